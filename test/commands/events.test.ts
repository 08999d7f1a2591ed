import "reflect-metadata";
import t from "tap";
import { container } from "tsyringe";
import { runCommand } from "../../src/commands/program.ts";
import { openDesk } from "../../src/composition/herald.ts";
import { readConfig } from "../../src/runtime/config/config.ts";
import { DAY, HOUR } from "../../src/runtime/durations.ts";
import { startBackend } from "../fixtures/events/backends.ts";
import { configure, deliveryIs, deliveryOf, record, recordAt } from "../fixtures/events/events.ts";
import { startApi } from "../fixtures/http/api.ts";
import { commandLine } from "../fixtures/processes/command-line.ts";
import { startDispatcher } from "../fixtures/processes/dispatcher.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";
import { until } from "../fixtures/until.ts";

const NOBODY = "6f1d3c2a-8a54-4f0e-9d0b-3a1f5c7e9b21";
const ago = (age: number) => new Date(Date.now() - age).toISOString();

t.test("herald events replay", async (t) => {
  const settings = await testSettings(t);
  const api = await startApi(t, { config: readConfig(settings) });
  const herald = commandLine(t, settings);
  const replay = (client: string, ...words: string[]) =>
    herald(["events", "replay", "--client", client, ...words]);
  const failed = (id: string) =>
    deliveryIs(api, id, { state: "failed", attempts: 13, next_attempt_at: null });
  const configured = async () => {
    const tenant = await makeTenant(api);
    await configure(api, tenant);
    return tenant;
  };

  t.test("makes due again what failed and what was skipped, in bulk, and of this client alone", async (t) => {
    const [one, other] = [await configured(), await configured()];
    const [first, second, delivered] = (await record(api, one, {}, {}, {})) as [string, string, string];
    const [foreign] = (await record(api, other, {})) as [string];
    for (const id of [first, foreign]) await failed(id);
    await deliveryIs(api, second, { state: "skipped", skip_reason: "disabled" });
    await deliveryIs(api, delivered, { state: "delivered" });
    const { code, json } = await replay(one.id, "--since", ago(HOUR), "--json");
    t.equal(code, 0);
    t.same(json, { queued: 2, not_redispatched: 0 });
    for (const id of [first, second])
      t.match(await deliveryOf(api, id), { state: "pending", is_bulk: true, enqueued_at: null });
    t.match(await deliveryOf(api, first), { attempts: 13, schedule_base: 13 });
    t.match(await deliveryOf(api, delivered), { state: "delivered", is_bulk: false });
    t.match(await deliveryOf(api, foreign), { state: "failed", is_bulk: false });
    t.equal((await replay(one.id, "--since", ago(HOUR))).out, "sent again: 0\n");
  });

  t.test("follows status, key and time", async (t) => {
    const tenant = await configured();
    const at = async (days: number, state: string, event = {}) =>
      deliveryIs(api, await recordAt(api, tenant, Date.now() - days * DAY, event), { state });
    await at(1, "failed");
    await at(3, "failed", { key: "marketing", type: "lead.created" });
    await at(5, "skipped");
    const queued = async (...words: string[]) => (await replay(tenant.id, ...words, "--json")).json.queued;
    t.equal(await queued("--since", ago(9 * DAY), "--until", ago(6 * DAY)), 0);
    t.equal(await queued("--since", ago(9 * DAY), "--status", "skipped", "--key", "marketing"), 0);
    t.equal(await queued("--since", ago(9 * DAY), "--status", "skipped"), 1);
    t.equal(await queued("--since", ago(9 * DAY), "--key", "marketing"), 1);
    t.equal(await queued("--since", ago(2 * DAY)), 1);
  });

  t.test("says what stays as it is, and why", async (t) => {
    const tenant = await makeTenant(api);
    await configure(api, tenant, { off: ["chatapp"] });
    const ids = await record(api, tenant, {}, { type: "lead.created", key: "marketing" });
    for (const id of ids) await failed(id);
    const { code, out } = await replay(tenant.id, "--since", ago(HOUR));
    t.equal(code, 0);
    t.equal(out, "sent again: 1; left: 1, whose key is switched off, or there is no webhook_url\n");
  });

  t.test("shows how far it has come", async (t) => {
    const tenant = await configured();
    await record(api, tenant, ...Array.from({ length: 2_100 }, () => ({})));
    await api.db.query("update deliveries set state = 'failed' where client_id = $1", [tenant.id]);
    const seen: unknown[] = [];
    const desk = openDesk(container.createChildContainer(), settings);
    t.teardown(() => desk.close());
    const progress = (label: string, total: number) => {
      seen.push([label, total]);
      return { advance: (by: number) => void seen.push(by), end: () => void seen.push("end") };
    };
    const watched = Object.assign(Object.create(desk), { progress });
    const words = ["events", "replay", "--client", tenant.id, "--since", ago(HOUR), "--status", "failed"];
    t.equal(await runCommand(words, watched, { out: () => {}, err: () => {} }), 0);
    t.same(seen, [["events", 2_100], 2_001, 99, "end"]);
  });

  t.test("says what cannot be done, with exit code 1", async (t) => {
    const { code, out, err } = await replay(NOBODY, "--since", ago(HOUR));
    t.equal(code, 1);
    t.equal(out, "");
    t.match(err, /there is no client 6f1d/);
  });

  t.test("says what was not understood, with exit code 2, and changes nothing", async (t) => {
    const tenant = await configured();
    const [id] = (await record(api, tenant, {})) as [string];
    await failed(id);
    const since = ["--since", ago(HOUR)];
    const wrong: [RegExp, string[]][] = [
      [/--since <TIME>' not specified/, []],
      [/--since must be a time such as 2026-11-01T09:30:00Z/, ["--since", "yesterday"]],
      [/--since must be a time such as 2026-11-01T09:30:00Z/, ["--since", "2026-11-01"]],
      [/--since must be a time .* no leap second/, ["--since", "2016-12-31T23:59:60Z"]],
      [/--until must be a time such as/, [...since, "--until", ""]],
      [/--until must be a time .* no leap second/, [...since, "--until", "2016-12-31T23:59:60Z"]],
      [/--since must not be later than until/, [...since, "--until", ago(2 * HOUR)]],
      [/--status must be one of failed, skipped/, [...since, "--status", "delivered"]],
      [/--key must be one of chatapp, .*embedded_signup/, [...since, "--key", "messages"]],
    ];
    for (const [message, words] of wrong) {
      const { code, out, err } = await replay(tenant.id, ...words);
      t.equal(code, 2, words.join(" "));
      t.equal(out, "");
      t.match(err, message);
    }
    t.equal((await replay("17", ...since)).code, 2);
    t.match(await deliveryOf(api, id), { state: "failed" });
  });
});

t.test("a dispatcher sends what was replayed", async (t) => {
  const settings = await testSettings(t, { PRIVATE_DESTINATIONS: "127.0.0.0/8" });
  const dispatcher = await startDispatcher(t, { config: readConfig(settings) });
  const received: unknown[] = [];
  const backend = await startBackend(t, (request, response) => {
    received.push(request.headers["webhook-id"]);
    response.end();
  });
  const tenant = await makeTenant(dispatcher);
  const [id] = (await record(dispatcher, tenant, {})) as [string];
  t.match(await deliveryOf(dispatcher, id), { state: "skipped" });
  await configure(dispatcher, tenant, { url: backend.url });
  const words = ["events", "replay", "--client", tenant.id, "--since", ago(HOUR), "--json"];
  t.same((await commandLine(t, settings)(words)).json, { queued: 1, not_redispatched: 0 });
  await until("delivered", async () => (await deliveryOf(dispatcher, id)).state === "delivered");
  t.same(received, [id]);
  t.match(await deliveryOf(dispatcher, id), { attempts: 1, is_bulk: true });
});
