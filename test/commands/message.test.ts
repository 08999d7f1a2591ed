import t from "tap";
import { readConfig } from "../../src/runtime/config/config.ts";
import { makeEvents } from "../fixtures/events/events.ts";
import { startApi } from "../fixtures/http/api.ts";
import { makeSender, textMessage, updateRow } from "../fixtures/messages/messages.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
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

  t.test(
    "finds the message of any client and prints it with its timeline, without its content",
    async (t) => {
      const { code, json } = await herald(["message", "show", id, "--json"]);
      t.equal(code, 0);
      const [message] = (await sender.list()).body.data;
      const { body: timeline } = await api.call("GET", `/api/outbound/messages/${id}/timeline`, {
        headers: sender.headers,
      });
      const { explanation, ...shown } = json;
      t.same(shown, { message: { client_id: sender.tenant.id, ...message }, timeline: timeline.data });
      t.match(explanation, { message_id: id, verdict: "failed" });
    },
  );

  t.test("prints readable lines without --json", async (t) => {
    const { out } = await herald(["message", "show", id]);
    t.match(out, new RegExp(`^client_id +${sender.tenant.id}\nmessage_id +${id}\nstatus +failed\n`));
    t.match(out, /\nerror +131026: no \(no account\)\n.*\n\nat +type +details\n/s);
    t.match(out, / accepted +order-1042\n/);
    t.match(
      out,
      / platform_attempt +attempt 1 unknown\n.* platform_attempt +attempt 2 rejected, HTTP 400, 45 ms, 131026: no \(no account\)\n/,
    );
    t.match(out, new RegExp(` event +${event} message.status\n`));
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
