import "reflect-metadata";
import { Redis } from "ioredis";
import t from "tap";
import { container } from "tsyringe";
import { runCommand } from "../../src/commands/program.ts";
import { openCommandContext } from "../../src/composition/herald.ts";
import { openCommandServices } from "../../src/composition/herald-services.ts";
import { createBreakers } from "../../src/queue/breakers.ts";
import { readConfig } from "../../src/runtime/config/config.ts";
import { DAY, HOUR } from "../../src/runtime/durations.ts";
import { newId } from "../../src/runtime/ids.ts";
import { startBackend } from "../fixtures/events/backends.ts";
import {
  configureWebhook,
  makeEventAt,
  makeEvents,
  readDelivery,
  updateDelivery,
} from "../fixtures/events/events.ts";
import { startApi } from "../fixtures/http/api.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { startDispatcher } from "../fixtures/processes/dispatcher.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";
import { until } from "../fixtures/until.ts";

const UNKNOWN_CLIENT = "6f1d3c2a-8a54-4f0e-9d0b-3a1f5c7e9b21";
const ago = (age: number) => new Date(Date.now() - age).toISOString();

t.test("herald events replay", async (t) => {
  const settings = await testSettings(t);
  const api = await startApi(t, { config: readConfig(settings) });
  const herald = createCommandRunner(t, settings);
  const replay = (client: string, ...words: string[]) =>
    herald(["events", "replay", "--client", client, ...words]);
  const markFailed = (id: string) =>
    updateDelivery(api, id, { state: "failed", attempts: 13, next_attempt_at: null });
  const makeConfiguredTenant = async () => {
    const tenant = await makeTenant(api);
    await configureWebhook(api, tenant);
    return tenant;
  };

  t.test("makes the client's failed and skipped events due again as bulk deliveries", async (t) => {
    const [one, other] = [await makeConfiguredTenant(), await makeConfiguredTenant()];
    const [first, second, delivered] = (await makeEvents(api, one, {}, {}, {})) as [string, string, string];
    const [foreign] = (await makeEvents(api, other, {})) as [string];
    for (const id of [first, foreign]) await markFailed(id);
    await updateDelivery(api, second, { state: "skipped", skip_reason: "disabled" });
    await updateDelivery(api, delivered, { state: "delivered" });
    const { code, json } = await replay(one.id, "--since", ago(HOUR), "--json");
    t.equal(code, 0);
    t.same(json, { queued: 2, not_redispatched: 0, by_type: { "message.received": 2 } });
    for (const id of [first, second])
      t.match(await readDelivery(api, id), { state: "pending", is_bulk: true });
    t.match(await readDelivery(api, first), { attempts: 13, schedule_base: 13 });
    t.match(await readDelivery(api, delivered), { state: "delivered", is_bulk: false });
    t.match(await readDelivery(api, foreign), { state: "failed", is_bulk: false });
    t.equal((await replay(one.id, "--since", ago(HOUR))).out, "queued again: 0\n");
  });

  t.test("filters by status, key, type, channel, message and period", async (t) => {
    const tenant = await makeConfiguredTenant();
    const [channel_id, message_id] = [newId("ch"), newId("msg")];
    const at = async (days: number, state: string, event = {}) =>
      updateDelivery(api, await makeEventAt(api, tenant, Date.now() - days * DAY, event), { state });
    await at(1, "failed");
    await at(3, "failed", { key: "marketing", type: "lead.created" });
    await at(5, "skipped");
    await at(7, "failed", { type: "message.status", message_id });
    await at(7, "failed", { type: "message.status", channel_id });
    await at(7, "failed", { type: "message.send_result", channel_id });
    const queued = async (...words: string[]) => (await replay(tenant.id, ...words, "--json")).json.queued;
    t.equal(await queued("--since", ago(9 * DAY), "--until", ago(8 * DAY)), 0);
    t.equal(await queued("--since", ago(9 * DAY), "--type", "lead.created", "--key", "chatapp"), 0);
    t.equal(await queued("--since", ago(9 * DAY), "--message-id", message_id), 1);
    t.equal(await queued("--since", ago(9 * DAY), "--channel-id", channel_id, "--type", "message.status"), 1);
    t.equal(await queued("--since", ago(9 * DAY), "--channel-id", channel_id), 1);
    t.equal(await queued("--since", ago(9 * DAY), "--status", "skipped", "--key", "marketing"), 0);
    t.equal(await queued("--since", ago(9 * DAY), "--status", "skipped"), 1);
    t.equal(await queued("--since", ago(9 * DAY), "--key", "marketing"), 1);
    t.equal(await queued("--since", ago(2 * DAY)), 1);
  });

  t.test("reports how many events are left unchanged, and why", async (t) => {
    const tenant = await makeTenant(api);
    await configureWebhook(api, tenant, { disabledKeys: ["chatapp"] });
    const ids = await makeEvents(
      api,
      tenant,
      {},
      { type: "lead.created", key: "marketing" },
      { type: "comment.created", key: "publishing" },
    );
    for (const id of ids) await markFailed(id);
    const { code, out } = await replay(tenant.id, "--since", ago(HOUR));
    t.equal(code, 0);
    t.match(
      out,
      /^queued again: 2 \((lead|comment)\.created 1, (lead|comment)\.created 1\); left unchanged: 1, because their key is disabled or no webhook_url is set\n$/,
    );
  });

  t.test("shows its progress", async (t) => {
    const tenant = await makeConfiguredTenant();
    await makeEvents(api, tenant, ...Array.from({ length: 2_100 }, () => ({})));
    await api.db.query("update deliveries set state = 'failed' where client_id = $1", [tenant.id]);
    const progressCalls: unknown[] = [];
    const open = () => openCommandContext(settings);
    const context = openCommandServices(open(), container.createChildContainer());
    const progress = (label: string, total: number) => {
      progressCalls.push([label, total]);
      return {
        advance: (by: number) => void progressCalls.push(by),
        end: () => void progressCalls.push("end"),
      };
    };
    const watchedContext = Object.assign(Object.create(context), { progress });
    const words = ["events", "replay", "--client", tenant.id, "--since", ago(HOUR), "--status", "failed"];
    const contexts = { open, openServices: async () => watchedContext };
    t.equal(await runCommand(words, contexts, { out: () => {}, err: () => {} }), 0);
    t.same(progressCalls, [["events", 2_100], 501, 501, 501, 501, 96, "end"]);
  });

  t.test("reports an unknown client with exit code 1", async (t) => {
    const { code, out, err } = await replay(UNKNOWN_CLIENT, "--since", ago(HOUR));
    t.equal(code, 1);
    t.equal(out, "");
    t.match(err, /there is no client 6f1d/);
  });

  t.test("reports invalid options with exit code 2 and changes nothing", async (t) => {
    const tenant = await makeConfiguredTenant();
    const [id] = (await makeEvents(api, tenant, {})) as [string];
    await markFailed(id);
    const since = ["--since", ago(HOUR)];
    const wrong: [RegExp, string[]][] = [
      [/--since <TIME>' not specified/, []],
      [/--since must be an RFC 3339 time such as 2026-11-01T09:30:00Z/, ["--since", "yesterday"]],
      [/--since must be an RFC 3339 time such as 2026-11-01T09:30:00Z/, ["--since", "2026-11-01"]],
      [/--since must be an RFC 3339 time .* no leap second/, ["--since", "2016-12-31T23:59:60Z"]],
      [/--until must be an RFC 3339 time such as/, [...since, "--until", ""]],
      [/--until must be an RFC 3339 time .* no leap second/, [...since, "--until", "2016-12-31T23:59:60Z"]],
      [/--since must not be later than --until/, [...since, "--until", ago(2 * HOUR)]],
      [/--status must be one of failed, skipped/, [...since, "--status", "delivered"]],
      [/--key must be one of chatapp, .*embedded_signup/, [...since, "--key", "messages"]],
      [/--type must be one of message\.received, /, [...since, "--type", "lead"]],
      [/--channel-id must be a complete id/, [...since, "--channel-id", "ch_1"]],
      [/--message-id must be a complete id/, [...since, "--message-id", newId("ch")]],
    ];
    for (const [message, words] of wrong) {
      const { code, out, err } = await replay(tenant.id, ...words);
      t.equal(code, 2, words.join(" "));
      t.equal(out, "");
      t.match(err, message);
    }
    t.equal((await replay("17", ...since)).code, 2);
    t.match(await readDelivery(api, id), { state: "failed" });
  });
});

t.test("a dispatcher delivers replayed events", async (t) => {
  const settings = await testSettings(t, { PRIVATE_DESTINATIONS: "127.0.0.0/8" });
  const dispatcher = await startDispatcher(t, { config: readConfig(settings) });
  const received: unknown[] = [];
  const backend = await startBackend(t, (request, response) => {
    received.push(request.headers["webhook-id"]);
    response.end();
  });
  const tenant = await makeTenant(dispatcher);
  const [id] = (await makeEvents(dispatcher, tenant, {})) as [string];
  t.match(await readDelivery(dispatcher, id), { state: "skipped" });
  await configureWebhook(dispatcher, tenant, { url: backend.url });
  const words = ["events", "replay", "--client", tenant.id, "--since", ago(HOUR), "--json"];
  t.same((await createCommandRunner(t, settings)(words)).json, {
    queued: 1,
    not_redispatched: 0,
    by_type: { "message.received": 1 },
  });
  await until("delivered", async () => (await readDelivery(dispatcher, id)).state === "delivered");
  t.same(received, [id]);
  t.match(await readDelivery(dispatcher, id), { attempts: 1, is_bulk: true });
});

t.test("herald events show and retry", async (t) => {
  const settings = await testSettings(t);
  const api = await startApi(t, { config: readConfig(settings) });
  const herald = createCommandRunner(t, settings);
  const [tenant, other] = [await makeTenant(api), await makeTenant(api)];
  for (const one of [tenant, other]) await configureWebhook(api, one);
  const [id = "", untouched = ""] = await makeEvents(
    api,
    tenant,
    { data: { text: "a secret of a person" } },
    {},
  );
  await makeEvents(api, other, {});
  await updateDelivery(api, id, {
    state: "failed",
    attempts: 13,
    next_attempt_at: null,
    last_status_code: 503,
  });
  await api.db.query(
    "insert into attempts (client_id, id, attempt, at, status_code, duration_ms) values ($1, $2, 13, now(), 503, 7)",
    [tenant.id, id],
  );

  t.test("show has the event of whichever client with its attempts, and no payload", async (t) => {
    const { code, out, json } = await herald(["events", "show", id, "--json"]);
    t.equal(code, 0);
    t.match(json, {
      event: { client_id: tenant.id, id, status: "failed", attempts: 13, last_status_code: 503 },
      delivery_attempts: [{ attempt: 13, status_code: 503, duration_ms: 7 }],
    });
    const text = (await herald(["events", "show", id])).out;
    t.match(text, new RegExp(`^client_id +${tenant.id}\nid +${id}\n`));
    t.match(text, /\n\nattempt +at +status_code +duration_ms +error\n13 /);
    t.notMatch(out + text, /a secret of a person|payload|headers/);
    t.match((await herald(["events", "show", untouched])).out, /\n\nnone\n$/);
  });

  t.test("show says what a pending event waits for", async (t) => {
    const waitsFor = async (event: string) =>
      (await herald(["events", "show", event, "--json"])).json.event.waits_for;
    t.equal(await waitsFor(id), null, "it has failed");
    t.equal(await waitsFor(untouched), "attempt");
    const redis = new Redis(settings.REDIS_URL as string);
    t.teardown(() => redis.disconnect());
    const breakers = createBreakers(redis, [18]);
    const destination = { clientId: tenant.id, origin: "https://backend.example" };
    for (let call = 0; call < 5; call++)
      await breakers.recordResult(destination, { isFailure: true, isProbe: false });
    t.equal(await waitsFor(untouched), "breaker");
    await herald("queue hold");
    t.equal(await waitsFor(untouched), "hold");
    await herald("queue release");
  });

  t.test("retry makes the event due now, and no other", async (t) => {
    const { code, json } = await herald(["events", "retry", id, "--json"]);
    t.equal(code, 0);
    t.match(json, { client_id: tenant.id, id, status: "pending", attempts: 13 });
    t.match(await readDelivery(api, id), {
      state: "pending",
      attempts: 13,
      schedule_base: 13,
      is_bulk: false,
    });
    t.match(await readDelivery(api, untouched), { state: "pending", attempts: 0 });
    await updateDelivery(api, id, { state: "delivered" });
    t.match((await herald(["events", "retry", id, "--json"])).json, { status: "pending" });
  });

  t.test("retry sends nothing while the key is disabled, and says so", async (t) => {
    await configureWebhook(api, tenant, { disabledKeys: ["chatapp"] });
    await updateDelivery(api, id, { state: "failed" });
    const { code, out, err } = await herald(["events", "retry", id]);
    t.equal(code, 1);
    t.equal(out, "");
    t.match(err, `nothing was sent: the key of ${id} is disabled, or its client has no webhook_url`);
    t.match(await readDelivery(api, id), { state: "failed" });
  });

  t.test("an unknown or malformed id is refused", async (t) => {
    for (const verb of ["show", "retry"]) {
      const unknown = newId("evt");
      t.match(await herald(["events", verb, unknown]), {
        code: 1,
        err: `herald: there is no event ${unknown}\n`,
      });
      t.match(await herald(["events", verb, "evt_1"]), { code: 2, err: /must be a complete id/ });
      t.match(await herald(["events", verb]), { code: 2, err: /missing required argument/ });
    }
  });
});
