import t from "tap";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { readClientEvents, sendWebhook } from "../../fixtures/platforms/webhooks.ts";
import { grantAdAccount } from "../../fixtures/tenants/ad-accounts.ts";
import { makeChannel, newPlatformId, removeToken } from "../../fixtures/tenants/channels.ts";
import { makeTenant, type Tenant } from "../../fixtures/tenants/tenants.ts";

const TIME = Math.floor(Date.now() / 1000);

const sendNotice = (api: Api, wabaId: string, field: string, value: object, time = TIME) =>
  sendWebhook(api, {
    object: "whatsapp_business_account",
    entry: [{ id: wabaId, time, changes: [{ field, value }] }],
  });

const channelsOf = async (api: Api, { id }: Tenant) =>
  (await readClientEvents(api, id)).map(({ channel_id }) => channel_id);

const statusOf = async (api: Api, channelId: string) => {
  const [row] = await api.db.query<{ status: string; token_sealed: string | null }>(
    "select status, token_sealed from channels where id = $1",
    [channelId],
  );
  return row;
};

t.test(
  "an update of a whole business is one event for each client, on its oldest connected channel",
  async (t) => {
    const api = await startApi(t);
    const [one, other, uninvolved] = [await makeTenant(api), await makeTenant(api), await makeTenant(api)];
    const wabaId = newPlatformId();
    const disconnected = await makeChannel(api, one, { wabaId });
    const needsReauth = await makeChannel(api, one, { wabaId });
    const oldest = await makeChannel(api, one, { wabaId });
    await makeChannel(api, one, { wabaId });
    const otherChannel = await makeChannel(api, other, { wabaId });
    await makeChannel(api, uninvolved);
    await api.db.query("update channels set status = 'disconnected' where id = $1", [disconnected]);
    await api.db.query("update channels set status = 'needs_reauth' where id = $1", [needsReauth]);
    const value = { event: "APPROVED", message_template_id: 5, message_template_name: "t" };
    await sendNotice(api, wabaId, "message_template_status_update", value);
    t.same(await channelsOf(api, one), [oldest]);
    t.same(await channelsOf(api, other), [otherChannel]);
    t.same(await channelsOf(api, uninvolved), []);
  },
);

t.test("a notice about a number goes to the client with that number only", async (t) => {
  const api = await startApi(t);
  const [one, other] = [await makeTenant(api), await makeTenant(api)];
  const wabaId = newPlatformId();
  const first = await makeChannel(api, one, { wabaId, displayPhoneNumber: "+55 11 90000-0001" });
  const second = await makeChannel(api, other, { wabaId, displayPhoneNumber: "+55 11 90000-0002" });
  const sendQualityFlag = (number: string) =>
    sendNotice(api, wabaId, "phone_number_quality_update", {
      display_phone_number: number,
      event: "FLAGGED",
    });
  await sendQualityFlag("5511900000002");
  t.same([await channelsOf(api, one), await channelsOf(api, other)], [[], [second]]);
  await sendQualityFlag("4400");
  t.same(
    [await channelsOf(api, one), await channelsOf(api, other)],
    [[], [second]],
    "a third number belongs to neither",
  );
  await api.db.query("update channels set display_phone_number = null where id = $1", [first]);
  await sendQualityFlag("5511900000001");
  t.same(
    [await channelsOf(api, one), await channelsOf(api, other)],
    [[first], [second]],
    "a channel without a known number gets it",
  );
  await api.db.query("update channels set status = 'disconnected' where id = $1", [first]);
  await sendQualityFlag("5511900000003");
  t.equal((await channelsOf(api, other)).length, 2, "the only client left gets it");
});

t.test("messages reach only the owner of the number", async (t) => {
  const api = await startApi(t);
  const [one, other] = [await makeTenant(api), await makeTenant(api)];
  const [wabaId, phoneNumberId] = [newPlatformId(), newPlatformId()];
  const channel = await makeChannel(api, one, { wabaId, phoneNumberId });
  await makeChannel(api, other, { wabaId });
  const message = { id: "wamid.1", from: "1", type: "text", text: { body: "private" } };
  await sendNotice(api, wabaId, "messages", { messages: [message] });
  await sendNotice(api, wabaId, "smb_message_echoes", { message_echoes: [message] });
  t.same([await channelsOf(api, one), await channelsOf(api, other)], [[], []]);
  const metadata = { phone_number_id: phoneNumberId };
  await sendNotice(api, wabaId, "smb_message_echoes", { metadata, message_echoes: [message] });
  t.same([await channelsOf(api, one), await channelsOf(api, other)], [[channel], []]);
});

t.test("pages and photo accounts have separate owners, even when they are linked", async (t) => {
  const api = await startApi(t);
  const [social, photo] = [await makeTenant(api), await makeTenant(api)];
  const [pageId, photoappUserId] = [newPlatformId(), newPlatformId()];
  const socialChannel = await makeChannel(api, social, { platform: "socialapp", pageId });
  await removeToken(api, socialChannel);
  const photoChannel = await makeChannel(api, photo, { platform: "photoapp", pageId, photoappUserId });
  const messaging = (id: string) => [
    {
      id,
      time: TIME,
      messaging: [{ sender: { id: "9" }, timestamp: TIME * 1000, message: { mid: "m_1", text: "Hi" } }],
    },
  ];
  await sendWebhook(api, { object: "page", entry: messaging(pageId) });
  await sendWebhook(api, { object: "instagram", entry: messaging(photoappUserId) });
  await sendWebhook(api, { object: "instagram", entry: messaging(pageId) });
  const comment = { item: "comment", verb: "add", comment_id: "1_2", post_id: "1", from: { id: "9" } };
  const lead = { leadgen_id: 444, page_id: 1, form_id: 2, created_time: TIME };
  await sendWebhook(api, {
    object: "page",
    entry: [
      {
        id: pageId,
        time: TIME,
        changes: [
          { field: "feed", value: comment },
          { field: "leadgen", value: lead },
        ],
      },
    ],
  });
  const told = (await readClientEvents(api, social.id)).map(({ type, key, channel_id }) => [
    type,
    key,
    channel_id,
  ]);
  t.same(told, [
    ["message.received", "socialapp", socialChannel],
    ["comment.created", "publishing", socialChannel],
    ["lead.created", "marketing", socialChannel],
  ]);
  t.match(await readClientEvents(api, photo.id), [
    {
      type: "message.received",
      key: "photoapp",
      channel_id: photoChannel,
      payload: { channel_id: photoChannel },
    },
  ]);
});

t.test("only clients with an active or disabled ad account get its events", async (t) => {
  const api = await startApi(t);
  const accountId = newPlatformId();
  const expected: Record<string, number> = { active: 1, disabled: 1, available: 0, revoked: 0 };
  const tenants = await Promise.all(
    Object.keys(expected).map(async (status) => {
      const tenant = await makeTenant(api);
      await grantAdAccount(api, tenant, { accountId, status });
      return { tenant, status };
    }),
  );
  const value = { id: "120", level: "AD", error_code: "567", error_message: "no" };
  const webhook = {
    object: "ad_account",
    entry: [{ id: accountId, time: TIME, changes: [{ field: "with_issues_ad_objects", value }] }],
  };
  await sendWebhook(api, webhook);
  await sendWebhook(api, webhook);
  for (const { tenant, status } of tenants) {
    const events = await readClientEvents(api, tenant.id);
    t.equal(events.length, expected[status], status);
    for (const event of events)
      t.match(event, {
        key: "marketing",
        ad_account_id: `act_${accountId}`,
        channel_id: null,
        payload: { ad_account_id: `act_${accountId}`, type: "ad_object.with_issues" },
      });
  }
});

t.test("channels are disconnected when the platform removes their business", async (t) => {
  const api = await startApi(t);
  const [one, other] = [await makeTenant(api), await makeTenant(api)];
  const wabaId = newPlatformId();
  const phoneNumberId = newPlatformId();
  const channels = [
    await makeChannel(api, one, { wabaId, phoneNumberId }),
    await makeChannel(api, other, { wabaId }),
  ];
  const elsewhere = await makeChannel(api, one);
  const removed = { event: "PARTNER_REMOVED", waba_info: { waba_id: wabaId } };
  const sendRemoval = () => sendNotice(api, newPlatformId(), "account_update", removed, TIME + 1);
  await sendRemoval();
  for (const id of channels) t.same(await statusOf(api, id), { status: "disconnected", token_sealed: null });
  t.equal((await statusOf(api, elsewhere))?.status, "connected");
  for (const tenant of [one, other])
    t.match(await readClientEvents(api, tenant.id), [
      { type: "channel.disconnected", payload: { data: { reason: "platform" } } },
    ]);
});

t.test("each event that ends the access to a business disconnects its channel", async (t) => {
  const api = await startApi(t);
  const tenant = await makeTenant(api);
  for (const event of [
    "PARTNER_REMOVED",
    "PARTNER_APP_UNINSTALLED",
    "ACCOUNT_DELETED",
    "ACCOUNT_OFFBOARDED",
    "ACCOUNT_RESTRICTION",
  ]) {
    const wabaId = newPlatformId();
    const channelId = await makeChannel(api, tenant, { wabaId });
    await sendNotice(api, wabaId, "account_update", { event }, TIME + 1);
    const expected = event === "ACCOUNT_RESTRICTION" ? "connected" : "disconnected";
    t.equal((await statusOf(api, channelId))?.status, expected, event);
  }
});

/** Moves the channel's connection one day back. */
const backdate = (api: Api, channelId: string) =>
  api.db.query(
    "update channels set connected_at = now() - interval '1 day', granted_at = now() - interval '1 day' where id = $1",
    [channelId],
  );

t.test("an old removal does not disconnect a channel that was connected since", async (t) => {
  const api = await startApi(t);
  const tenant = await makeTenant(api);
  const [wabaId, phoneNumberId] = [newPlatformId(), newPlatformId()];
  const channelId = await makeChannel(api, tenant, { wabaId, phoneNumberId });
  const removed = { event: "PARTNER_REMOVED" };
  const told = async () => (await readClientEvents(api, tenant.id)).at(-1)?.payload;
  await sendNotice(api, wabaId, "account_update", removed, TIME - 3600);
  t.equal((await statusOf(api, channelId))?.status, "connected", "the removal is older than the connection");
  t.match(await told(), {
    type: "channel.updated",
    data: { change: "account_update", after: "PARTNER_REMOVED" },
  });
  await backdate(api, channelId);
  await makeChannel(api, tenant, { wabaId, phoneNumberId, token: "a-fresh-token" });
  await sendNotice(api, wabaId, "account_update", removed, TIME - 3000);
  t.equal(
    (await statusOf(api, channelId))?.status,
    "connected",
    "the removal is older than the current token",
  );
  await backdate(api, channelId);
  await sendNotice(api, wabaId, "account_update", removed, TIME - 1800);
  t.equal((await statusOf(api, channelId))?.status, "disconnected");
  t.match(await told(), { type: "channel.disconnected", data: { reason: "platform" } });
  await makeChannel(api, tenant, { wabaId, phoneNumberId });
  await backdate(api, channelId);
  await sendNotice(api, wabaId, "account_update", removed, TIME - 1800);
  t.equal((await statusOf(api, channelId))?.status, "connected", "a repeated removal is ignored");
  await sendNotice(api, wabaId, "account_update", removed, 1_700_000_000);
  t.equal(
    (await statusOf(api, channelId))?.status,
    "disconnected",
    "a time that is years old is taken as wrong",
  );
});

t.test("a disconnect records one event and one audit entry", async (t) => {
  const api = await startApi(t);
  const tenant = await makeTenant(api);
  const wabaId = newPlatformId();
  const channelId = await makeChannel(api, tenant, { wabaId });
  const changes = ["PARTNER_APP_UNINSTALLED", "PARTNER_REMOVED"].map((event) => ({
    field: "account_update",
    value: { event },
  }));
  await sendWebhook(api, {
    object: "whatsapp_business_account",
    entry: [{ id: wabaId, time: TIME, changes }],
  });
  t.same(
    (await readClientEvents(api, tenant.id)).map(({ type }) => type),
    ["channel.disconnected", "channel.updated"],
  );
  const audit = await api.db.query(
    "select action, actor_type, target, details from audit_log where client_id = $1 order by id desc limit 1",
    [tenant.id],
  );
  t.match(audit, [
    {
      action: "channel.disconnected",
      actor_type: "service",
      target: channelId,
      details: { reason: "platform" },
    },
  ]);
});
