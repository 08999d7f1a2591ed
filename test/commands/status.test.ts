import { Redis } from "ioredis";
import t from "tap";
import { createBreakers } from "../../src/queue/breakers.ts";
import { createPauses } from "../../src/queue/platform-pauses.ts";
import { awaitConnection, createProducerClient } from "../../src/queue/redis.ts";
import { readConfig } from "../../src/runtime/config/config.ts";
import { startBackend } from "../fixtures/events/backends.ts";
import { configureWebhook, makeEvents, updateDelivery } from "../fixtures/events/events.ts";
import { startApi } from "../fixtures/http/api.ts";
import { updateRow } from "../fixtures/messages/messages.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
import { startOneNodeCluster } from "../fixtures/servers/redis-cluster.ts";
import { REFUSALS, startRefusingRedis } from "../fixtures/servers/redis-refusals.ts";
import { connectRawClient } from "../fixtures/servers/servers.ts";
import { makeChannel } from "../fixtures/tenants/channels.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";

t.test("herald status", async (t) => {
  const { url } = await startBackend(t, (_, response) => response.end('{"status":"degraded"}'));
  const settings = await testSettings(t, {
    PUBLIC_URL: url,
    AD_PLATFORM_URL: url,
    CHAT_PLATFORM_URL: url,
    PHOTO_PLATFORM_URL: url,
    SOCIAL_PLATFORM_URL: url,
  });
  const api = await startApi(t, { config: readConfig(settings) });
  const redis = new Redis(settings.REDIS_URL as string);
  t.teardown(() => redis.disconnect());
  const raw = await connectRawClient(t, settings.DATABASE_URL as string);
  const herald = createCommandRunner(t, settings);

  t.test("shows a service at rest on a few lines", async (t) => {
    const { code, out } = await herald("status");
    t.equal(code, 1, "no dispatcher is running");
    t.same(out.split("\n"), [
      `web         degraded at ${url}`,
      "postgres    accepts writes",
      "redis       accepts writes",
      "platforms   answer",
      "dispatcher  NONE is running",
      "scheduler   NONE is running",
      "queue       not held",
      "waiting     0",
      "oldest_due  0 s",
      "failed_24h  0 messages, 0 events",
      "backends    0 fail",
      "channels    0 connected, 0 needs_reauth",
      "",
    ]);
  });

  t.test("names what is wrong, over all clients", async (t) => {
    const tenant = await makeTenant(api, "A shop");
    await configureWebhook(api, tenant);
    const channel = await makeChannel(api, tenant);
    await updateRow(api, "channels", { id: channel, status: "needs_reauth" });
    await makeChannel(api, tenant);
    const [failed = "", waiting = ""] = await makeEvents(api, tenant, {}, {});
    await updateDelivery(api, waiting, { state: "retrying", attempts: 1, last_error: "HTTP 500" });
    await updateDelivery(api, failed, {
      state: "failed",
      attempts: 13,
      last_status_code: 503,
      last_error: "HTTP 503",
      failed_at: new Date(),
      next_attempt_at: null,
    });
    await raw.query(
      "insert into workers (id, process, heartbeat_at) select 'wrk_' || n, 'dispatcher', now() + interval '1 hour' from generate_series(1, 2) n",
    );
    await raw.query(
      "insert into workers (id, process, heartbeat_at) values ('wrk_killed', 'scheduler', now() - interval '1 minute')",
    );
    const breakers = createBreakers(redis, [18]);
    const destination = { clientId: tenant.id, origin: "https://shop.example" };
    for (let call = 0; call < 5; call++)
      await breakers.recordResult(destination, { isFailure: true, isProbe: false });
    await createPauses(redis).pause("asset:1600:ads_insights", 90_000);
    await herald(["queue", "hold", "--reason", "a repair"]);
    const { code, json } = await herald("status --json");
    t.equal(code, 0);
    t.match(json, {
      web: `degraded at ${url}`,
      postgres: "ok",
      redis: "ok",
      platforms: [],
      workers: [
        { process: "dispatcher", running: 2, killed_id: null },
        { process: "scheduler", running: 0, killed_id: "wrk_killed", killed_after: /^20/ },
      ],
      queue: { held: true, held_reason: "a repair" },
      waiting: { total: 1, breaker: 1 },
      failed_24h: { messages: 0, events: 1 },
      channels: { connected: 1, needs_reauth: 1 },
      failing_backends: 1,
      breakers: [
        {
          client_id: tenant.id,
          client: "A shop",
          origin: "https://shop.example",
          state: "open",
          since: /^20/,
          last_error: "HTTP 500",
        },
      ],
      needs_reauth: [{ client_id: tenant.id, channel_id: channel }],
      pauses: [{ quota: "asset:1600:ads_insights", seconds_left: Number }],
      failures: [
        { client_id: tenant.id, kind: "delivery", count: 1, cause: "http_status", status_code: 503 },
      ],
    });
    const { out } = await herald("status");
    for (const line of [
      /^dispatcher +2 running$/m,
      /^scheduler +NONE is running: wrk_killed ended without a stop after 20\S+Z$/m,
      /^queue +held since 20\S+ by .*: a repair$/m,
      /^waiting +1 \(breaker 1\)$/m,
      /^failed_24h +0 messages, 1 events$/m,
      /^channels +1 connected, 1 needs_reauth$/m,
      /\n\nBackends that fail.*\nclient_id .*\n\S+ +A shop +https:\/\/shop.example +open .* HTTP 500\n/,
      /\n\nChannels that need a new token\nclient_id .*\n\S+ +ch_/,
      /\n\nCalls paused by a limit of a platform\nquota +seconds_left\nasset:1600:ads_insights +\d+\n/,
      /\n\nFailures of the last 24 hours\nclient_id .*\n\S+ +1 +delivery +http_status +503 /,
    ])
      t.match(out, line);
  });

  t.test("is incomplete while Redis refuses writes or does not answer", async (t) => {
    const { url, admin } = await startRefusingRedis(t);
    await REFUSALS["a read-only replica"]?.begin(admin);
    const refusing = await createCommandRunner(t, { ...settings, REDIS_URL: url })("status");
    t.equal(refusing.code, 1);
    t.match(refusing.out, /^redis +NOT USABLE: 127\.0\.0\.1:\d+ refuses writes: READONLY .*$/m);
    const away = createCommandRunner(t, { ...settings, REDIS_URL: "redis://127.0.0.1:1" });
    const { code, json } = await away("status --json");
    t.equal(code, 1);
    t.match(json, {
      redis: /^127\.0\.0\.1:1 cannot be used: connect ECONNREFUSED/,
      failing_backends: null,
      breakers: null,
      pauses: null,
      workers: [{ running: 2 }, {}],
    });
    t.match((await away("status")).out, /^redis +NOT USABLE: 127\.0\.0\.1:1 cannot be used: /m);
  });

  t.test("lists the pauses of a Redis Cluster, the longest first", async (t) => {
    const cluster = { ...settings, REDIS_URL: await startOneNodeCluster(t) };
    const client = createProducerClient(readConfig(cluster));
    t.teardown(() => client.disconnect());
    await awaitConnection(client, 60_000);
    const pauses = createPauses(client);
    await pauses.pause("app", 60_000);
    await pauses.pause("object:/120", 3_600_000);
    const { code, json } = await createCommandRunner(t, cluster)("status --json");
    t.equal(code, 0);
    t.match(json.pauses, [{ quota: "object:/120" }, { quota: "app" }]);
    t.equal(json.pauses.length, 2);
  });

  t.test("says why web or a platform does not answer, and fails without Postgres", async (t) => {
    const statusWith = (more: Record<string, string>) =>
      createCommandRunner(t, { ...settings, ...more })("status --json");
    const down = await statusWith({ PUBLIC_URL: "http://127.0.0.1:1" });
    t.match(down.json.web, /^no answer from http:\/\/127.0.0.1:1\/readyz: /);
    const nowhere = await statusWith({ AD_PLATFORM_URL: "http://no-such-host.invalid/v26.0" });
    t.match(nowhere.json.platforms, [/^no answer from http:\/\/no-such-host.invalid: getaddrinfo /]);
    const withoutPostgres = await statusWith({ DATABASE_URL: "postgres://u:pg-secret@127.0.0.1:1/x" });
    t.equal(withoutPostgres.code, 1);
    t.match(withoutPostgres.err, /ECONNREFUSED/);
    t.notMatch(withoutPostgres.err, /pg-secret/);
  });
});
