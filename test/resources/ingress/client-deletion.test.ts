import t from "tap";
import { eraseDeletedClients } from "../../../src/domain/tenants/delete-client.ts";
import { markClientDeleted } from "../../../src/store/tenants/client-erasure.ts";
import { startApi } from "../../fixtures/http/api.ts";
import { insertMessage, readMessageState } from "../../fixtures/messages/message-rows.ts";
import { makeSender, textMessage } from "../../fixtures/messages/messages.ts";
import { readClientEvents, sendWebhook } from "../../fixtures/platforms/webhooks.ts";
import { makeChannel, newPlatformId } from "../../fixtures/tenants/channels.ts";
import { readCachedTemplates } from "../../fixtures/tenants/templates.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";

/** Seconds since 1970, as the platform writes times. */
const NOW_SECONDS = Math.floor(Date.now() / 1_000);

t.test("while the rows of a deleted client are not erased yet", async (t) => {
  const api = await startApi(t, { credentialTtlMs: 1 });
  const makeClient = async () => {
    const [tenant, phoneNumberId, wabaId] = [await makeTenant(api), newPlatformId(), newPlatformId()];
    const channelId = await makeChannel(api, tenant, { phoneNumberId, wabaId });
    const sent = { channel_id: channelId, status: "accepted", platform_message_id: `wamid.${phoneNumberId}` };
    return { tenant, phoneNumberId, wabaId, messageId: await insertMessage(api, tenant, sent) };
  };
  type Client = Awaited<ReturnType<typeof makeClient>>;
  const [gone, other] = [await makeClient(), await makeClient()];
  const chatWebhook = (toChange: (client: Client) => object) => ({
    object: "whatsapp_business_account",
    entry: [gone, other].map((client) => ({
      id: client.wabaId,
      time: NOW_SECONDS,
      changes: [toChange(client)],
    })),
  });
  const typesOf = async ({ tenant }: Client) =>
    (await readClientEvents(api, tenant.id)).map(({ type }) => type);
  const owner = await gone.tenant.createUser("owner");
  const key = await gone.tenant.createKey("messages:send");
  await markClientDeleted(api.db, gone.tenant.id);

  t.test("its API keys and users get 401", async (t) => {
    for (const { headers } of [owner, key]) {
      const reply = await api.call("GET", "/api/auth/me", { headers });
      t.equal(reply.status, 401);
    }
  });

  t.test("its statuses are of unknown assets, and those of other clients are applied", async (t) => {
    const reply = await sendWebhook(
      api,
      chatWebhook(({ phoneNumberId, messageId }) => ({
        field: "messages",
        value: {
          metadata: { phone_number_id: phoneNumberId },
          statuses: [
            {
              ...{ id: `wamid.${phoneNumberId}`, status: "delivered", recipient_id: "5511999998888" },
              ...{ timestamp: String(NOW_SECONDS), biz_opaque_callback_data: messageId },
            },
          ],
        },
      })),
    );
    t.equal(reply.status, 200);
    t.match(await readMessageState(api, gone.messageId), { status: "accepted" });
    t.match(await readMessageState(api, other.messageId), { status: "delivered" });
    t.same(await typesOf(gone), []);
    t.same(await typesOf(other), ["message.status"]);
  });

  t.test("its templates are not stored, and those of other clients are", async (t) => {
    const value = {
      ...{ event: "APPROVED", reason: "NONE", message_template_id: 123 },
      ...{ message_template_name: "cart", message_template_language: "en-US" },
    };
    const webhook = chatWebhook(() => ({ field: "message_template_status_update", value }));
    t.equal((await sendWebhook(api, webhook)).status, 200);
    t.same(await readCachedTemplates(api, gone.tenant), []);
    t.match(await readCachedTemplates(api, other.tenant), [{ status: "APPROVED" }]);
  });

  t.test("another client can connect its number", async (t) => {
    const { phoneNumberId } = gone;
    const sender = await makeSender(api);
    const channelId = await makeChannel(api, sender.tenant, { phoneNumberId });
    t.equal((await sender.send(textMessage(channelId))).status, 202);
  });

  t.test("the erasure ends", async (t) => t.equal(await eraseDeletedClients(api.db), 1));
});

t.test("a request that was authenticated before the deletion changes nothing and gets 401", async (t) => {
  const api = await startApi(t); // credentials are cached for some seconds
  const sender = await makeSender(api);
  const { tenant } = sender;
  const owner = await tenant.createUser("owner");
  const channelId = await makeChannel(api, tenant);
  const call = (method: string, path: string, json?: unknown) =>
    api.call(method, path, { headers: { ...owner.headers, "idempotency-key": path }, json });
  t.equal((await call("GET", "/api/auth/me")).status, 200);
  t.equal((await sender.send(textMessage(channelId))).status, 202);
  await markClientDeleted(api.db, tenant.id);
  const requests = {
    "/api/keys": { name: "k", scopes: ["messages:send"] },
    "/api/users": { email: "late@example.com", name: "L", role: "member" },
    "/api/embed/sessions": { allowed_origins: ["https://app.example.com"] },
  };
  for (const [path, json] of Object.entries(requests)) t.equal((await call("POST", path, json)).status, 401);
  t.equal((await sender.send(textMessage(channelId))).status, 404, "the channel is gone");
  t.equal(await eraseDeletedClients(api.db), 1);
  const rows = await api.db.query("select from idempotency_keys where client_id = $1", [tenant.id]);
  t.equal(rows.length, 0);
});
