import t from "tap";
import { startApi } from "../../fixtures/http/api.ts";
import { insertMessage, readMessageState, readMessageStates } from "../../fixtures/messages/message-rows.ts";
import { makeSender, textMessage } from "../../fixtures/messages/messages.ts";
import { pageWebhook, readClientEvents, sendWebhook } from "../../fixtures/platforms/webhooks.ts";
import { makeChannel, newPlatformId } from "../../fixtures/tenants/channels.ts";
import { holdDeletion } from "../../fixtures/tenants/client-deletion.ts";
import { readCachedTemplates } from "../../fixtures/tenants/templates.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";

/** Seconds since 1970, as the platform writes times. */
const NOW_SECONDS = Math.floor(Date.now() / 1_000);

t.test("while a client is being deleted", async (t) => {
  const api = await startApi(t);
  const makeClient = async () => {
    const [tenant, phoneNumberId, wabaId, pageId] = [
      await makeTenant(api),
      ...[newPlatformId(), newPlatformId(), newPlatformId()],
    ] as const;
    const channelId = await makeChannel(api, tenant, { phoneNumberId, wabaId });
    const pageChannelId = await makeChannel(api, tenant, { platform: "socialapp", pageId });
    const sent = { channel_id: channelId, status: "accepted", platform_message_id: `wamid.${phoneNumberId}` };
    return {
      ...{ tenant, phoneNumberId, wabaId, pageId, pageChannelId },
      messageId: await insertMessage(api, tenant, sent),
    };
  };
  type Client = Awaited<ReturnType<typeof makeClient>>;
  const makeClients = async () => [await makeClient(), await makeClient()] as const;
  const typesOf = async ({ tenant }: Client) =>
    (await readClientEvents(api, tenant.id)).map(({ type }) => type);

  const chatWebhook = (clients: readonly Client[], toChange: (client: Client) => object) => ({
    object: "whatsapp_business_account",
    entry: clients.map((client) => ({ id: client.wabaId, time: NOW_SECONDS, changes: [toChange(client)] })),
  });

  const toStatus = ({ phoneNumberId, messageId }: Client) => ({
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
  });

  t.test("a webhook with its statuses and those of another client applies the others", async (t) => {
    const [gone, other] = await makeClients();
    const webhook = chatWebhook([gone, other], toStatus);
    const end = await holdDeletion(t, api.config, gone.tenant);
    t.match(await sendWebhook(api, webhook), { status: 503, body: { error: "temporarily_unavailable" } });
    t.match(await readMessageState(api, other.messageId), { status: "delivered" });
    t.same(await typesOf(other), ["message.status"]);
    await end("rollback");
    t.match(await readMessageState(api, gone.messageId), { status: "accepted" });
    t.equal((await sendWebhook(api, webhook)).status, 200, "the platform repeats the webhook");
    t.match(await readMessageState(api, gone.messageId), { status: "delivered" });
    for (const client of [gone, other]) {
      const [event, ...more] = await readClientEvents(api, client.tenant.id);
      t.match([event?.type, event?.message_id, more.length], ["message.status", client.messageId, 0]);
    }
  });

  const TEMPLATE_CHANGES = {
    status: {
      field: "message_template_status_update",
      value: { event: "APPROVED", reason: "NONE" },
    },
    quality: {
      field: "message_template_quality_update",
      value: { previous_quality_score: "GREEN", new_quality_score: "RED" },
    },
  };
  for (const [what, { field, value }] of Object.entries(TEMPLATE_CHANGES))
    t.test(
      `a webhook with the ${what} of templates stores the others' and records their events`,
      async (t) => {
        const [gone, other] = await makeClients();
        const template = {
          ...{ message_template_id: 123, message_template_name: "cart" },
          message_template_language: "en-US",
        };
        for (const { tenant, wabaId } of [gone, other])
          await api.db.query(
            `insert into templates (client_id, waba_id, hsm_id, name, language, quality_score, updated_at)
          values ($1, $2, '123', 'cart', 'en-US', 'GREEN', now() - interval '1 day')`,
            [tenant.id, wabaId],
          );
        const end = await holdDeletion(t, api.config, gone.tenant);
        const webhook = chatWebhook([gone, other], () => ({ field, value: { ...template, ...value } }));
        t.equal((await sendWebhook(api, webhook)).status, 503);
        t.equal((await typesOf(other)).length, 1);
        t.match(
          await readCachedTemplates(api, other.tenant),
          what === "status" ? [{ status: "APPROVED" }] : [{ quality_score: "RED" }],
        );
        await end("commit");
        t.equal((await sendWebhook(api, webhook)).status, 200, "the client's updates are dropped");
        t.equal((await typesOf(other)).length, 1);
      },
    );

  t.test("a webhook with watermarks moves the messages of other clients", async (t) => {
    const [gone, other] = await makeClients();
    const person = "24681012";
    const messageIds = await Promise.all(
      [gone, other].map(({ tenant, pageChannelId }) =>
        insertMessage(api, tenant, {
          ...{ platform: "socialapp", channel_id: pageChannelId, status: "sent" },
          ...{ recipient: person, recipient_kind: "scoped_id", platform_message_id: `m.${tenant.id}` },
        }),
      ),
    );
    const statuses = async () => (await readMessageStates(api, messageIds)).map(({ status }) => status);
    const watermark = Date.now() + 1_000;
    const webhook = {
      object: "page",
      entry: [gone, other].map(({ pageId: id }) => ({
        id,
        messaging: [{ sender: { id: person }, recipient: { id }, read: { watermark }, timestamp: watermark }],
      })),
    };
    const end = await holdDeletion(t, api.config, gone.tenant);
    t.equal((await sendWebhook(api, webhook)).status, 503);
    t.same(await statuses(), ["sent", "read"]);
    await end("rollback");
    t.equal((await sendWebhook(api, webhook)).status, 200);
    t.same(await statuses(), ["read", "read"]);
    for (const client of [gone, other]) t.same(await typesOf(client), ["message.status"]);
  });

  t.test("a webhook that disconnects channels disconnects those of other clients", async (t) => {
    const [gone, other] = await makeClients();
    const end = await holdDeletion(t, api.config, gone.tenant);
    const webhook = chatWebhook([gone, other], ({ wabaId }) => ({
      field: "account_update",
      value: { event: "PARTNER_REMOVED", waba_info: { waba_id: wabaId } },
    }));
    t.equal((await sendWebhook(api, webhook)).status, 503);
    t.same(await typesOf(other), ["channel.disconnected"]);
    await end("rollback");
    t.equal((await sendWebhook(api, webhook)).status, 200);
    t.same(await typesOf(gone), ["channel.disconnected"]);
  });

  t.test("more webhooks of the client than there are connections do not hold up other clients", async (t) => {
    const [gone, other] = await makeClients();
    const sender = await makeSender(api);
    const message = textMessage(await makeChannel(api, sender.tenant));
    const end = await holdDeletion(t, api.config, gone.tenant);
    const blocked = Array.from({ length: 3 * api.config.DATABASE_POOL }, (_, index) =>
      sendWebhook(api, pageWebhook(gone.pageId, [`m.${index}`])),
    );
    t.equal((await sendWebhook(api, pageWebhook(other.pageId, ["m.1"]))).status, 200);
    t.equal((await sender.send(message)).status, 202);
    t.same([...new Set((await Promise.all(blocked)).map(({ status }) => status))], [503]);
    await end("rollback");
    t.equal((await sendWebhook(api, pageWebhook(gone.pageId, ["m.1"]))).status, 200);
    t.same(await typesOf(gone), ["message.received"]);
  });
});
