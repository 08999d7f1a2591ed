import { Redis } from "ioredis";
import t from "tap";
import { createBreakers } from "../../src/queue/breakers.ts";
import { createEventNotifier } from "../../src/queue/wake-ups.ts";
import { readConfig } from "../../src/runtime/config/config.ts";
import { createDatabase } from "../../src/store/database/database.ts";
import { configureWebhook, makeEvents, updateDelivery } from "../fixtures/events/events.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { startProcess } from "../fixtures/processes/processes.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
import { REFUSALS, startRefusingRedis } from "../fixtures/servers/redis-refusals.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";
import { until } from "../fixtures/until.ts";

const NONE = {
  depth: 0,
  oldest_due_seconds: 0,
  in_flight: 0,
  parked: 0,
  open_breakers: 0,
  waiting: {
    total: 0,
    due: 0,
    order: 0,
    rate: 0,
    retry: 0,
    reconnect: 0,
    breaker: 0,
    scheduled: 0,
    paused: 0,
  },
  oldest_accepted_seconds: 0,
  failed_24h: 0,
};

t.test("herald queue status", async (t) => {
  const settings = await testSettings(t);
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  const redis = new Redis(settings.REDIS_URL as string);
  t.teardown(async () => {
    redis.disconnect();
    await db.close();
  });
  const herald = createCommandRunner(t, settings);

  t.test("shows an empty queue", async (t) => {
    const { code, json, err } = await herald("queue status --json");
    t.equal(code, 0);
    t.equal(err, "");
    t.same(json, {
      held: false,
      held_since: null,
      held_by: null,
      held_reason: null,
      data: [
        { stream: "{18}:events", ...NONE },
        { stream: "{18}:bulk", ...NONE },
        { stream: "{18}:outbound", ...NONE },
      ],
      clients: [],
    });
  });

  t.test("shows unread wake-ups, oldest due row, rows in flight and open circuit breakers", async (t) => {
    const tenant = await makeTenant({ db, config });
    await configureWebhook({ db }, tenant);
    const ids = await makeEvents({ db }, tenant, {}, {}, {}, {}, {});
    const [waiting = "", other = "", replayed = "", inFlight = "", later = ""] = ids;
    const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000);
    await updateDelivery({ db }, waiting, { next_attempt_at: ago(90) });
    await updateDelivery({ db }, other, { next_attempt_at: ago(30) });
    await updateDelivery({ db }, replayed, { next_attempt_at: ago(7_200), is_bulk: true });
    await updateDelivery({ db }, inFlight, { worker_id: "wrk_1", claimed_at: new Date() });
    await updateDelivery({ db }, later, { state: "retrying", attempts: 1, next_attempt_at: ago(-600) });
    await redis.xgroup("CREATE", "{18}:events", "herald", "0", "MKSTREAM");
    const notifier = createEventNotifier(redis, [18]);
    notifier.notify([tenant.id]);
    await notifier.close?.();
    const breakers = createBreakers(redis, [18]);
    const destination = { clientId: tenant.id, origin: "https://backend.example" };
    // Five failures open the breaker, and five failed probes keep it open for minutes.
    for (let call = 0; call < 10; call++)
      await breakers.recordResult(destination, { isFailure: true, isProbe: call >= 5 });
    const halfOpen = JSON.stringify({
      origin: "https://other.example",
      until: Date.now() - 1,
      failedProbes: 0,
    });
    await redis.hset("{18}:breakers", "6f1d3c2a-8a54-4f0e-9d0b-3a1f5c7e9b21", halfOpen);

    const { code, json, err } = await herald("queue status --json");
    t.equal(code, 0);
    t.equal(err, "");
    const [events, bulk] = json.data;
    t.match(events, { stream: "{18}:events", depth: 1, in_flight: 1, parked: 0, open_breakers: 1 });
    t.match(bulk, { stream: "{18}:bulk", depth: 0, in_flight: 0, parked: 0, open_breakers: 1 });
    t.ok(events.oldest_due_seconds >= 90 && events.oldest_due_seconds < 600);
    t.ok(bulk.oldest_due_seconds >= 7_200);
    t.match(events.waiting, { total: 3, breaker: 3, due: 0, retry: 0 });
    t.match(bulk.waiting, { total: 1, breaker: 1 });

    const client_id = tenant.id;
    t.same(json.clients, [
      { client_id, stream: "{18}:events", waiting: 3, reason: "breaker" },
      { client_id, stream: "{18}:bulk", waiting: 1, reason: "breaker" },
    ]);

    const { out } = await herald("queue status");
    t.match(
      out,
      new RegExp(`\\n\\nclient_id +stream +waiting +reason\\n${client_id} +.18.:events +3 +breaker\\n`),
    );
    t.match(
      out,
      /^stream +depth +oldest_due_seconds +in_flight +parked +open_breakers +waiting +oldest_accepted_seconds +failed_24h\n\{18\}:events +1 +\d+ +1 +0 +\d +3 \(breaker 3\) +\d+ +0\n/,
    );
  });

  t.test("hold and release show the state, which queue status and doctor show too", async (t) => {
    const released = { held: false, since: null, by: null, reason: null };
    t.same((await herald("queue release --json")).json, released);
    const { json: hold } = await herald(["queue", "hold", "--reason", "a repair", "--json"]);
    t.match(hold, { held: true, since: /^20/, by: /^\S+ at \S/, reason: "a repair" });
    const second = await herald(["queue", "hold", "--reason", "another", "--json"]);
    t.same(second.json, hold, "a second hold changes nothing");
    t.match(second.err, `already held since ${hold.since} by ${hold.by}: a repair; nothing was changed`);
    t.match((await herald("queue status --json")).json, {
      held: true,
      held_since: hold.since,
      held_by: hold.by,
      held_reason: "a repair",
    });
    t.match((await herald("queue status")).out, `held since ${hold.since} by ${hold.by}: a repair\nstream `);
    const { json: health } = await herald("doctor --json");
    const findings: { check: string; status: string }[] = health.findings;
    t.match(
      findings.find(({ check }) => check === "queue"),
      { status: "warning", message: /^held since 20.* by .*: a repair; /, fix: /herald queue release/ },
    );
    t.same((await herald("queue release --json")).json, released);
    t.match((await herald("queue hold --json")).json, { held: true, reason: null }, "a reason is optional");
    t.notMatch((await herald("queue status")).out, /null/);
    await herald("queue release");
  });

  t.test("a reason that would spoil the log or the screen is refused", async (t) => {
    for (const reason of ["", "  ", "two\nlines", "x".repeat(201)]) {
      const { code, err } = await herald(["queue", "hold", "--reason", reason]);
      t.equal(code, 2);
      t.match(err, "--reason must have 1 to 200 characters, at least one visible and no control characters");
    }
    t.match((await herald("queue status --json")).json, { held: false });
  });

  t.test("closes its Redis connection", async () => {
    const connections = async () => {
      const list = (await redis.client("LIST")) as string;
      return list.split("\n").filter((line) => line.includes(` db=${redis.options.db} `)).length;
    };
    await until("only the test's own connection is open", async () => (await connections()) === 1);
  });

  t.test("shows the values from Postgres while Redis is unreachable, and exits with code 1", async (t) => {
    const unreachable = { ...settings, REDIS_URL: "redis://127.0.0.1:1" };
    const { code, out, err } = await createCommandRunner(t, unreachable)("queue status");
    t.equal(code, 1);
    t.match(
      out,
      /\{18\}:events +- +\d+ +1 +0 +- +3 \(due 2, retry 1\) .+\n\{18\}:bulk +- +\d+ +0 +0 +- +1 \(due 1\) .+\n/,
    );
    t.match(err, /^Redis does not answer: depth and open_breakers are unknown; [^\n]+\n$/);
    const command = startProcess(t, "herald", unreachable, { args: ["queue", "status", "--json"] });
    await until("the command exits", () => command.child.exitCode !== null);
    t.equal(command.child.exitCode, 1);
    t.match(JSON.parse(command.stdout()).data, [
      { depth: null, in_flight: 1, parked: 0, open_breakers: null },
      { depth: null },
    ]);
  });

  t.test("exits with code 1 while Redis refuses writes, and says so", async (t) => {
    const { url, admin } = await startRefusingRedis(t);
    await REFUSALS["a Redis out of memory"]?.begin(admin);
    const full = { ...settings, REDIS_URL: url };
    const command = startProcess(t, "herald", full, { args: ["queue", "status", "--json"] });
    t.equal(await command.ended(), 1);
    t.match(command.stderr(), /^Redis refuses writes: [^\n]+\n$/);
    t.match(JSON.parse(command.stdout()).data, [
      { depth: null, in_flight: 1, parked: 0, open_breakers: 0, waiting: { total: 3 } },
      { depth: null },
      { depth: null },
    ]);
  });

  t.test("exits with code 1 while Postgres is unreachable", async (t) => {
    const unreachable = { ...settings, DATABASE_URL: "postgres://user@127.0.0.1:1/none" };
    const { code, out, err } = await createCommandRunner(t, unreachable)("queue status");
    t.equal(code, 1);
    t.equal(out, "");
    t.match(err, /herald doctor checks the connection/);
  });
});
