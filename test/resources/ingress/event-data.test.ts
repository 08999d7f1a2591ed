import t, { type Test } from "tap";
import { startApi } from "../../fixtures/http/api.ts";
import { readClientEvents, sendWebhook } from "../../fixtures/platforms/webhooks.ts";
import { makeChannel, newPlatformId, removeToken } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";

const SECONDS = 1_790_000_000;
const AT = new Date(SECONDS * 1000).toISOString();
/** The envelope's time differs, so that the tests show which time an event has. */
const ENVELOPE_SECONDS = SECONDS + 60;
const ENVELOPE_AT = new Date(ENVELOPE_SECONDS * 1000).toISOString();

/** A client with a channel on each platform; each function posts an update and returns the new events. */
async function setUp(t: Test) {
  const api = await startApi(t);
  const tenant = await makeTenant(api);
  const [wabaId, phoneNumberId, pageId, photoappUserId] = [
    newPlatformId(),
    newPlatformId(),
    newPlatformId(),
    newPlatformId(),
  ];
  await makeChannel(api, tenant, { wabaId, phoneNumberId });
  await removeToken(api, await makeChannel(api, tenant, { platform: "socialapp", pageId }));
  await makeChannel(api, tenant, { platform: "photoapp", photoappUserId });
  const post = async (object: string, entry: object) => {
    const before = (await readClientEvents(api, tenant.id)).length;
    const reply = await sendWebhook(api, { object, entry: [{ time: ENVELOPE_SECONDS, ...entry }] });
    t.equal(reply.status, 200);
    return (await readClientEvents(api, tenant.id)).slice(before).map(({ payload }) => payload);
  };
  const postChange = (field: string, value: unknown, time = ENVELOPE_SECONDS) =>
    post("whatsapp_business_account", { id: wabaId, time, changes: [{ field, value }] });
  const metadata = { phone_number_id: phoneNumberId };
  return {
    pageId,
    postChange,
    postMessages: (value: object) => postChange("messages", { metadata, ...value }),
    postNumberChange: (field: string, value: object, time?: number) =>
      postChange(field, { metadata, ...value }, time),
    postPage: (entry: object) => post("page", { id: pageId, ...entry }),
    postPhoto: (entry: object) => post("instagram", { id: photoappUserId, ...entry }),
  };
}

const { pageId, postChange, postMessages, postNumberChange, postPage, postPhoto } = await setUp(t);

t.test("chat messages", async (t) => {
  const [phone, scoped] = ["16505551234", "US.13491208655302741918"];
  let count = 0;
  const received = async (fields: object, contacts?: unknown) => {
    const message = { id: `wamid.${++count}`, timestamp: String(SECONDS), ...fields };
    const [event] = await postMessages({ messages: [message], contacts });
    t.match(event, { type: "message.received", key: "chatapp", occurred_at: AT, raw: message });
    const { platform_message_id, at, ...data } = event.data;
    t.same([platform_message_id, at], [message.id, AT]);
    return data;
  };
  const text = { type: "text", text: { body: "Hi" } };
  const content = { type: "text", content: { body: "Hi" } };

  t.test("a business-scoped id in the phone number's place is not a phone number", async (t) => {
    const scopedOnly = { id: scoped, business_scoped_id: scoped };
    t.same(await received({ from: scoped, ...text }), { from: scopedOnly, ...content });
    t.same(await received({ ...text }, [{ wa_id: scoped, profile: { name: "Ana" } }]), {
      from: { ...scopedOnly, name: "Ana" },
      ...content,
    });
    t.same(await received({ from: phone, from_user_id: scoped, ...text }), {
      from: { id: phone, phone, business_scoped_id: scoped },
      ...content,
    });
    t.same(await received({ from: `+${phone}`, ...text }), { from: { id: phone, phone }, ...content });
    t.same(await received({ from: "someone", ...text }), { from: { id: "someone" }, ...content });
  });

  t.test("the username of the contact is part of the sender", async (t) => {
    const contacts = [
      { profile: { name: "Bo" }, wa_id: "4400" },
      { profile: { name: "Ana", username: "ana.s" }, wa_id: phone, user_id: scoped },
    ];
    t.same(await received({ from_user_id: scoped, ...text }, contacts), {
      from: { id: phone, phone, business_scoped_id: scoped, name: "Ana", username: "ana.s" },
      ...content,
    });
  });

  t.test("a contact next to several messages or statuses belongs only to those with its id", async (t) => {
    const contacts = [{ profile: { name: "Ana" }, wa_id: phone }];
    const messages = [{ from: phone }, { from_user_id: scoped }, {}].map((sender, index) => ({
      id: `wamid.several${index}`,
      ...sender,
      ...text,
    }));
    const events = await postMessages({ contacts, messages });
    t.same(
      events.map(({ data }) => data.from),
      [{ id: phone, phone, name: "Ana" }, { id: scoped, business_scoped_id: scoped }, {}],
    );
    const status = { id: "wamid.sent", status: "read", recipient_id: phone, timestamp: String(SECONDS) };
    const message = { id: "wamid.beside", from_user_id: scoped, ...text };
    const [received] = await postMessages({ contacts, messages: [message], statuses: [status] });
    t.same(received.data.from, { id: scoped, business_scoped_id: scoped });
  });

  t.test("a message without a type has the type of its content", async (t) => {
    const from = { id: phone, phone };
    t.same(await received({ from: phone, text: { body: "Hi" } }), { from, ...content });
    t.same(await received({ from: phone, context: { id: "wamid.y" }, image: { id: "5" } }), {
      from,
      type: "image",
      content: { id: "5" },
      context: { id: "wamid.y", message_id: "wamid.y" },
    });
    const errors = [{ code: 131051, title: "Unsupported" }];
    t.same(await received({ from: phone, errors }), { from, type: "unsupported", content: null, errors });
  });

  t.test("referral, group and errors are part of the data", async (t) => {
    const referral = { source_type: "ad", source_id: "120", ctwa_clid: "ARA", headline: "Coffee" };
    const from = { id: phone, phone };
    t.same(await received({ from: phone, ...text, referral, group_id: "G1" }), {
      from,
      ...content,
      referral,
      group_id: "G1",
    });
    const errors = [{ code: 131051 }];
    t.same(await received({ from: phone, type: "unsupported", errors }), {
      from,
      type: "unsupported",
      content: null,
      errors,
    });
  });

  t.test("wrong types in the optional fields lose neither the message nor the others", async (t) => {
    const odd = [null, 5, "x", [], {}, [1], { a: 1 }, true];
    const messages = odd.map((value, index) => ({
      id: `wamid.odd${index}`,
      ...{ from: value, from_user_id: value, type: value, timestamp: value, referral: value },
      ...{ group_id: value, errors: value, context: value, text: value },
    }));
    const events = await postMessages({
      messages: [...messages, { id: "wamid.good", from: phone, ...text }],
    });
    t.equal(events.length, odd.length + 1);
    for (const [index, event] of events.entries())
      t.match(event, { type: "message.received", raw: messages[index] ?? {} });
    for (const contacts of odd)
      t.match(await received({ from: phone, ...text }, contacts), { from: { phone } });
    t.match(await received({ from: phone, ...text }, [{ wa_id: {}, user_id: [], profile: 5 }, null]), {
      from: { phone },
    });
  });
});

t.test("messages sent with the phone app are echoes, once for each id", async (t) => {
  const echo = {
    from: "15550783881",
    to: "16505551234",
    id: "wamid.e1",
    timestamp: String(SECONDS),
    type: "text",
    text: { body: "From the app" },
  };
  const scoped = { ...echo, id: "wamid.e2", to: undefined, to_user_id: "US.1", type: undefined };
  const events = await postNumberChange("smb_message_echoes", {
    message_echoes: [echo, scoped, echo, null, { id: {} }],
  });
  t.match(
    events.map(({ type }) => type),
    ["message.received", "message.received", "platform.event", "platform.event"],
  );
  t.match(events[0], { key: "chatapp", occurred_at: AT, raw: echo });
  t.same(events[0].data, {
    platform_message_id: "wamid.e1",
    from: { id: "15550783881", phone: "15550783881" },
    to: "16505551234",
    type: "echo",
    content: { body: "From the app" },
    at: AT,
  });
  t.match(events[1].data, { platform_message_id: "wamid.e2", to: "US.1", content: { body: "From the app" } });
  t.same(await postNumberChange("smb_message_echoes", { message_echoes: [echo] }), []);
  const odd = [null, 5, "x", {}, { id: "wamid.e1" }];
  for (const message_echoes of odd)
    t.match(await postNumberChange("smb_message_echoes", { message_echoes }), [{ type: "channel.updated" }]);
});

t.test("each entry of user_preferences is an event with person, category and choice", async (t) => {
  const stop = {
    wa_id: "16505551234",
    detail: "User requested to stop",
    category: "marketing_messages",
    value: "stop",
    timestamp: SECONDS,
  };
  const signup = { wa_id: "US.9", category: "x", value: "signup", signup_id: "7", timestamp: `${SECONDS}` };
  const contacts = [{ wa_id: "16505551234", user_id: "US.1", profile: { name: "Ana" } }, { user_id: "US.9" }];
  const events = await postNumberChange("user_preferences", {
    contacts,
    user_preferences: [stop, signup, null, "x", { value: {}, wa_id: [], category: 5, timestamp: {} }],
  });
  t.match(events, [
    { type: "channel.updated", key: "chatapp", occurred_at: AT, raw: stop },
    { type: "channel.updated", occurred_at: AT, raw: signup },
    { type: "platform.event" },
    { type: "platform.event" },
    { type: "channel.updated", occurred_at: ENVELOPE_AT, data: { category: "5" } },
  ]);
  t.same(events[0].data, {
    change: "user_preferences",
    after: "stop",
    person: { id: "16505551234", phone: "16505551234", business_scoped_id: "US.1" },
    category: "marketing_messages",
    details: { detail: "User requested to stop" },
    at: AT,
  });
  t.same(events[1].data, {
    change: "user_preferences",
    after: "signup",
    person: { id: "US.9", business_scoped_id: "US.9" },
    category: "x",
    details: { signup_id: "7" },
    at: AT,
  });
  t.match(await postChange("user_preferences", { user_preferences: [stop] }), [{ data: { after: "stop" } }]);
  const others = [{ value: "stop" }, { user_id: "US.8", value: "stop" }];
  const shared = await postNumberChange("user_preferences", {
    contacts: [{ wa_id: "16505551234" }],
    user_preferences: others,
  });
  t.same(
    shared.map(({ data }) => data.person),
    [undefined, { id: "US.8", business_scoped_id: "US.8" }],
    "the only contact of several entries belongs only to those with its id",
  );
});

t.test("an entry of a list is recorded once, whatever the times of its notices", async (t) => {
  const person = { wa_id: "16505557777", timestamp: SECONDS };
  const entries = {
    user_preferences: { ...person, category: "marketing_messages", value: "stop" },
    user_id_update: { ...person, user_id: { previous: "US.3", current: "US.4" } },
  };
  for (const [field, entry] of Object.entries(entries)) {
    const post = (changes: object, time: number) =>
      postNumberChange(field, { [field]: [{ ...entry, ...changes }] }, time);
    const countsOf = async (changes: object) => [
      (await post(changes, ENVELOPE_SECONDS)).length,
      (await post(changes, ENVELOPE_SECONDS + 60)).length,
    ];
    t.same(await countsOf({}), [1, 0], field);
    t.same(await countsOf({ timestamp: SECONDS + 1 }), [1, 0], "the same change at another time is new");
    t.same(await countsOf({ timestamp: undefined }), [1, 1], "without its own time, the envelope's decides");
  }
});

t.test("notices have the time in their value and their other fields as details", async (t) => {
  const [idUpdate] = await postNumberChange("user_id_update", {
    user_id_update: [
      { wa_id: "16505551234", user_id: { previous: "US.1", current: "US.2" }, timestamp: `${SECONDS}` },
    ],
  });
  t.match(idUpdate, { type: "channel.updated", occurred_at: AT });
  t.same(idUpdate.data, {
    change: "user_id_update",
    before: "US.1",
    after: "US.2",
    person: { id: "16505551234", phone: "16505551234", business_scoped_id: "US.2" },
    at: AT,
  });
  const calls = [{ id: "wacid.1", event: "connect", timestamp: String(SECONDS) }];
  t.match(await postNumberChange("calls", { calls }), [
    { type: "channel.updated", occurred_at: AT, data: { change: "calls", details: { calls }, at: AT } },
  ]);
  const groups = [{ group_id: "G1", type: "group_create", timestamp: String(SECONDS) }];
  t.match(await postNumberChange("group_lifecycle_update", { groups }), [
    { type: "platform.event", occurred_at: AT, data: { field: "group_lifecycle_update" } },
  ]);
  const state_sync = [{ type: "contact", action: "add", metadata: { timestamp: String(SECONDS) } }];
  t.match(await postNumberChange("smb_app_state_sync", { state_sync }), [{ occurred_at: AT }]);
  const messages = [{ id: "wamid.old", timestamp: String(SECONDS) }];
  t.match(
    await postNumberChange("history", { history: [{ threads: [{ id: "1", messages }] }] }),
    [{ occurred_at: ENVELOPE_AT }],
    "an old message does not date its history",
  );
  const rows: [string, object, object][] = [
    [
      "phone_number_quality_update",
      { event: "ONBOARDING", max_daily_conversations_per_business: "TIER_250" },
      { after: "ONBOARDING", details: { max_daily_conversations_per_business: "TIER_250" } },
    ],
    [
      "business_username_update",
      { username: "coffee", status: "approved" },
      { after: "approved", details: { username: "coffee" } },
    ],
    [
      "account_update",
      { event: "ACCOUNT_RESTRICTION", restriction_info: [{ restriction_type: "X" }] },
      { after: "ACCOUNT_RESTRICTION", details: { restriction_info: [{ restriction_type: "X" }] } },
    ],
    ["account_review_update", { decision: { a: 1 } }, { details: { decision: { a: 1 } } }],
  ];
  for (const [field, value, data] of rows) {
    const [event] = await postChange(field, value);
    t.match(event, { type: "channel.updated", occurred_at: ENVELOPE_AT, raw: value });
    t.same(event.data, { change: field, ...data, at: ENVELOPE_AT });
  }
});

t.test("pages and photo accounts", async (t) => {
  const conversation = (fields: object) => ({
    sender: { id: "9" },
    recipient: { id: "77" },
    timestamp: SECONDS * 1000,
    ...fields,
  });

  t.test("messages inside changes are read like messaging", async (t) => {
    for (const [post, key] of [
      [postPage, "socialapp"],
      [postPhoto, "photoapp"],
    ] as const) {
      const value = conversation({ message: { mid: `m_${key}`, text: "Hi" } });
      t.match(await post({ changes: [{ field: "messages", value }] }), [
        {
          type: "message.received",
          key,
          occurred_at: AT,
          data: { platform_message_id: `m_${key}`, from: { id: "9" }, type: "text", at: AT },
          raw: value,
        },
      ]);
      t.same(await post({ messaging: [value] }), [], "the same message again");
    }
    for (const odd of [null, 5, "x", [], {}, { message: 5 }])
      t.match(await postPage({ changes: [{ field: "messages", value: odd }] }), [{ type: "platform.event" }]);
  });

  t.test("an echo has its recipient, and a message the ad it began with", async (t) => {
    const echo = { mid: "m_2", text: "Hi", is_echo: true };
    const [sent] = await postPage({
      messaging: [conversation({ sender: { id: pageId }, recipient: { id: "9" }, message: echo })],
    });
    t.match(sent.data, { from: { id: pageId }, to: "9", type: "echo" });
    const referral = { source: "ADS", type: "OPEN_THREAD", ad_id: "120" };
    const [message, postback] = await postPhoto({
      messaging: [
        conversation({ message: { mid: "m_3", text: "Hi", referral } }),
        conversation({ postback: { mid: "m_4", payload: "GO", referral } }),
      ],
    });
    t.same([message.data.referral, postback.data.referral], [referral, referral]);
    t.notOk("to" in message.data);
    const [plain] = await postPhoto({
      messaging: [conversation({ postback: { mid: "m_5", referral: {} } })],
    });
    t.notOk("referral" in plain.data);
  });

  t.test("an event that Herald does not interpret has its own time", async (t) => {
    for (const kind of ["optin", "policy_enforcement", "account_linking"])
      t.match(await postPage({ messaging: [conversation({ [kind]: { a: 1 } })] }), [
        { type: "platform.event", key: "socialapp", occurred_at: AT, data: { field: kind } },
      ]);
  });

  t.test("a mention of a page is mention.created", async (t) => {
    const value = {
      ...{ item: "comment", verb: "add", post_id: "5_6", comment_id: "6_7" },
      ...{ sender_id: "9", sender_name: "Ana", message: "See @page", created_time: SECONDS },
    };
    const [event] = await postPage({ changes: [{ field: "mention", value }] });
    t.match(event, { type: "mention.created", key: "publishing", occurred_at: AT, raw: value });
    t.same(event.data, {
      id: "6_7",
      post_id: "5_6",
      from: { id: "9", name: "Ana" },
      text: "See @page",
      verb: "add",
      at: AT,
    });
    const { comment_id: _none, sender_id: _nobody, ...post } = value;
    t.match(await postPage({ changes: [{ field: "mention", value: { ...post, item: "post" } }] }), [
      { data: { id: "5_6", from: { name: "Ana" } } },
    ]);
    for (const odd of [null, 5, {}, { post_id: {} }])
      t.match(await postPage({ changes: [{ field: "mention", value: odd }] }), [{ type: "platform.event" }]);
    const media = { media_id: "3", comment_id: "178" };
    t.match(await postPhoto({ changes: [{ field: "mentions", value: media }] }), [
      { type: "mention.created", occurred_at: ENVELOPE_AT, channel_id: /^ch_/, data: { id: "178" } },
    ]);
  });

  t.test("a lead without an ad has no ad_id", async (t) => {
    const lead = (leadgen_id: string, ids: object) =>
      postPage({ changes: [{ field: "leadgen", value: { leadgen_id, created_time: SECONDS, ...ids } }] });
    for (const [index, none] of ["0", 0, null, {}].entries()) {
      const [event] = await lead(`4${index}`, { ad_id: none, adgroup_id: "0" });
      t.same(event.data, { lead_id: `4${index}`, created_at: AT });
    }
    t.match(await lead("50", { ad_id: "0", adgroup_id: 3 }), [{ data: { ad_id: "3" } }]);
  });
});
