import t from "tap";
import { startApi } from "../../fixtures/api.ts";
import { eventsOf, sendWebhook } from "../../fixtures/platform-door.ts";
import { makeTenant } from "../../fixtures/tenants.ts";

t.test("a message goes on record as the platform wrote it", async (t) => {
  const api = await startApi(t);
  const tenant = await makeTenant(api);
  await api.db.query(
    "insert into channels (id, client_id, platform, waba_id, phone_number_id) values ('ch_1', $1, 'chatapp', '1', '2')",
    [tenant.id],
  );
  const body =
    '{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":{"metadata":{"phone_number_id":"2"},"contacts":[{"wa_id":"5511","profile":{"name":"Ana"}}],"messages":[{"from":"5511","id":"wamid.1","timestamp":"1749416383","type":"text","text":{"body":"Hello \\u0000 \\ud800","n":12345678901234567890}}]}}]}]}';
  const reply = await sendWebhook(api, body);
  t.equal(reply.status, 200);
  const again = await sendWebhook(api, body);
  t.equal(again.status, 200);
  const [event, ...rest] = await eventsOf(api, tenant.id);
  t.same(rest, []);
});
