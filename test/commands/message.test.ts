import t from "tap";
import { readConfig } from "../../src/runtime/config/config.ts";
import { makeEvents } from "../fixtures/events/events.ts";
import { startApi } from "../fixtures/http/api.ts";
import { makeSender, textMessage, updateRow } from "../fixtures/messages/messages.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
import { connectRedis } from "../fixtures/servers/redis.ts";
import { makeChannel } from "../fixtures/tenants/channels.ts";

const AT = "2026-11-01T09:30:01.000Z";

t.test("herald message show", async (t) => {
  const settings = await testSettings(t);
  const api = await startApi(t, { config: readConfig(settings) });
  const herald = createCommandRunner(t, settings);
  const sender = await makeSender(api);
  const channel = await makeChannel(api, sender.tenant);
  const sent = await sender.send(textMessage(channel), { "x-request-id": "order-1042" });
  const id = sent.body.message_id as string;
  const error = JSON.stringify({
    code: 131026,
    title: "Undeliverable",
    message: "no",
    details: "no account",
  });
  const attempts = [
    { attempt: 1, at: AT, outcome: "unknown" },
    { attempt: 2, at: AT, outcome: "rejected", status_code: 400, duration_ms: 45, error },
  ];
  await updateRow(api, "messages", {
    id,
    status: "failed",
    error,
    platform_attempts: JSON.stringify(attempts),
  });
  await api.db.query("delete from sends where id = $1", [id]);
  const [event] = await makeEvents(api, sender.tenant, { type: "message.status", messageId: id });

  t.test("finds the message of any client and prints it with its timeline", async (t) => {
    const { code, json } = await herald(["message", "show", id, "--json"]);
    t.equal(code, 0);
    const { body: message } = await sender.read(id);
    const { body: timeline } = await api.call("GET", `/api/outbound/messages/${id}/timeline`, {
      headers: sender.headers,
    });
    const expected = { client_id: sender.tenant.id, ...message, waits_for: null };
    t.same(json, { message: expected, timeline: timeline.data });
  });

  t.test("prints readable lines without --json", async (t) => {
    const { out } = await herald(["message", "show", id]);
    t.match(out, new RegExp(`^client_id +${sender.tenant.id}\nmessage_id +${id}\nstatus +failed\n`));
    t.match(out, /\nerror +131026: no \(no account\)\n\nat +type +details\n/);
    t.match(out, / accepted +order-1042\n/);
    t.match(
      out,
      / platform_attempt +attempt 1 unknown\n.* platform_attempt +attempt 2 rejected, HTTP 400, 45 ms, 131026: no \(no account\)\n/,
    );
    t.match(out, new RegExp(` event +${event} message.status\n`));
  });

  t.test("shows the reason why a message waits, as queue status counts it", async (t) => {
    const later = new Date(Date.now() + 3_600_000);
    const situations = [
      ["due", { state: "waiting", next_attempt_at: new Date(0) }],
      ["retry", { state: "waiting", next_attempt_at: later, attempts: 1 }],
      ["order", { state: "behind" }],
      [null, { state: "unknown" }],
    ] as const;
    const { body } = await sender.send(textMessage(channel, { to: "5511900000001" }));
    const waiting: string = body.message_id;
    const readWaiting = async () =>
      (await herald(["message", "show", waiting, "--json"])).json.message.waits_for;
    for (const [reason, columns] of situations) {
      await updateRow(api, "sends", { id: waiting, ...columns });
      t.equal(await readWaiting(), reason);
    }
    await updateRow(api, "sends", { id: waiting, state: "waiting", next_attempt_at: new Date(0) });
    const redis = await connectRedis(t, api.config.REDIS_URL.nodes[0]);
    await redis.set(`{18}:rate:${channel}`, "1", "PX", 60_000);
    t.equal(await readWaiting(), "rate", "while the channel uses its rate");
    const { json: limited } = await herald("queue status --json");
    t.match(limited.clients, [{ client_id: sender.tenant.id, stream: "{18}:outbound", reason: "rate" }]);
    await updateRow(api, "channels", { id: channel, status: "needs_reauth" });
    t.match((await herald(["message", "show", waiting])).out, /\nwaits_for +reconnect\n\nat /);
    const { json: queue } = await herald("queue status --json");
    t.match(queue.clients, [{ client_id: sender.tenant.id, stream: "{18}:outbound", reason: "reconnect" }]);
  });

  t.test("fails for an unknown id and refuses an incomplete one or none", async (t) => {
    const unknown = `msg_${"0".repeat(26)}`;
    t.match(await herald(["message", "show", unknown]), {
      code: 1,
      err: `herald: there is no message ${unknown}\n`,
    });
    t.match(await herald("message show msg_1"), { code: 2, err: /^herald: ID must be a complete id: msg_/ });
    t.match(await herald("message show"), { code: 2, err: /missing required argument 'ID'/ });
    t.match(await herald(["message", "show", id, id]), { code: 2, err: /too many arguments/ });
  });
});
