import t from "tap";
import { readWebhook, UPDATE_LIMITS } from "../../../src/platforms/webhooks/read-webhook.ts";
import { openJson } from "../../../src/runtime/json/json-source.ts";

const RECEIVED_AT = new Date("2026-11-01T09:30:00Z");

const AT = "2025-06-08T20:59:43.000Z";
const SECONDS = 1749416383;

/** Reads all updates of a webhook. */
function readAll(text: string) {
  const { object, updates } = readWebhook(openJson(text, UPDATE_LIMITS), RECEIVED_AT);
  const found = [...updates];
  return { object, updates: found.length, readings: found.filter((reading) => reading !== undefined) };
}

const read = (webhook: unknown) => {
  const { readings, ...rest } = readAll(typeof webhook === "string" ? webhook : JSON.stringify(webhook));
  return {
    ...rest,
    readings: readings.map(({ data, raw, ...reading }) => ({
      ...reading,
      data: JSON.parse(data.text),
      raw: JSON.parse(raw.text),
    })),
  };
};

/** Reads a webhook with this entry and returns its only update. */
function readOne(object: string, entry: object) {
  const { readings } = read({ object, entry: [{ id: "77", time: SECONDS, ...entry }] });
  if (readings.length !== 1) throw new Error(`${readings.length} readings`);
  return readings[0];
}

const notice = (field: string, value: object) =>
  readOne("whatsapp_business_account", { changes: [{ field, value }] });

const chat = (value: object) =>
  readOne("whatsapp_business_account", {
    time: undefined,
    changes: [{ field: "messages", value: { metadata: { phone_number_id: "106" }, ...value } }],
  });

t.test("chat messages become message.received events", async (t) => {
  const base = { id: "wamid.x", timestamp: String(SECONDS) };
  const contacts = [
    { profile: { name: "Bo" }, wa_id: "4400" },
    { profile: { name: "Ana" }, wa_id: "1650", user_id: "US.1" },
  ];
  const rows: [string, object, object][] = [
    [
      "a text with context from a known contact",
      {
        contacts,
        messages: [
          {
            ...base,
            from: "1650",
            type: "text",
            text: { body: "Hi" },
            context: { from: "1", id: "wamid.y" },
          },
        ],
      },
      {
        from: { id: "1650", phone: "1650", business_scoped_id: "US.1", name: "Ana" },
        type: "text",
        content: { body: "Hi" },
        context: { from: "1", id: "wamid.y", message_id: "wamid.y" },
      },
    ],
    [
      "a message without a phone number",
      {
        contacts: [{ profile: { name: "Cy" }, user_id: "BR.9" }],
        messages: [{ ...base, from_user_id: "BR.9", type: "image", image: { id: "5" } }],
      },
      { from: { id: "BR.9", business_scoped_id: "BR.9", name: "Cy" }, type: "image", content: { id: "5" } },
    ],
    [
      "an unsupported type without content",
      { messages: [{ ...base, from: "1650", type: "unsupported", errors: [{ code: 131051 }] }] },
      { from: { id: "1650", phone: "1650" }, type: "unsupported", content: null },
    ],
    [
      "a type that is a JavaScript property name",
      { messages: [{ ...base, from: "1650", type: "constructor" }] },
      { type: "constructor", content: null },
    ],
  ];
  for (const [title, value, data] of rows)
    t.match(
      chat(value),
      {
        asset: { kind: "number", id: "106" },
        key: "chatapp",
        type: "message.received",
        occurredAt: new Date(AT),
        data: { platform_message_id: "wamid.x", at: AT, ...data },
        raw: (value as { messages: object[] }).messages[0],
      },
      title,
    );
});

t.test("chat statuses become message.status events", async (t) => {
  const status = { id: "wamid.x", status: "delivered", timestamp: String(SECONDS) };
  const pricing = { billable: true };
  t.same(chat({ statuses: [{ ...status, recipient_id: "1650", pricing }] })?.data, {
    message_id: null,
    platform_message_id: "wamid.x",
    status: "delivered",
    at: AT,
    recipient: "1650",
    errors: [],
    pricing,
  });
  const errors = [{ code: 131049, title: "no" }];
  t.match(chat({ statuses: [{ ...status, status: "failed", errors }] }), {
    type: "message.status",
    data: { status: "failed", recipient: null, errors },
  });
  const error_data = { details: "why" };
  t.same(
    chat({
      statuses: [
        { ...status, status: "failed", errors: [{ code: 1, error_data }], biz_opaque_callback_data: "ours" },
      ],
    })?.status,
    {
      platformMessageId: "wamid.x",
      word: "failed",
      callback: "ours",
      error: { code: 1, title: null, message: null, details: "why" },
    },
    "the status of the message",
  );
  t.match(chat({ statuses: [{ ...status, status: "teleported", recipient_user_id: "US.1" }] })?.data, {
    status: "teleported",
    recipient: "US.1",
  });
});

t.test("chat notices become template and channel events", async (t) => {
  const template = {
    message_template_id: 1689556908129835,
    message_template_name: "cart",
    message_template_language: "en-US",
  };
  const about = { hsm_id: "1689556908129835", name: "cart", language: "en_US" };
  const statuses: [string, string | undefined][] = [
    ["PENDING", "PENDING"],
    ["IN_APPEAL", "PENDING"],
    ["APPROVED", "APPROVED"],
    ["REINSTATED", "APPROVED"],
    ["FLAGGED", undefined],
    ["UNARCHIVED", undefined],
    ["PAUSED", "REJECTED"],
    ["SOMETHING_NEW", "REJECTED"],
  ];
  for (const [event, status] of statuses) {
    const data = notice("message_template_status_update", { ...template, event, reason: "NONE" })?.data;
    t.same(data, { ...about, ...(status ? { status } : {}), platform_status: event, reason: "NONE" }, event);
  }
  const rows: [string, object, string, object][] = [
    [
      "message_template_quality_update",
      { ...template, previous_quality_score: "GREEN", new_quality_score: "RED" },
      "template.quality_updated",
      { ...about, before: "GREEN", after: "RED" },
    ],
    [
      "template_category_update",
      { ...template, new_category: "MARKETING" },
      "template.category_updated",
      { ...about, after: "MARKETING" },
    ],
    [
      "account_update",
      { event: "ACCOUNT_RESTRICTION" },
      "channel.updated",
      { change: "account_update", after: "ACCOUNT_RESTRICTION" },
    ],
    [
      "account_update",
      { event: "PARTNER_REMOVED" },
      "channel.updated",
      { change: "account_update", after: "PARTNER_REMOVED" },
    ],
    [
      "account_update",
      { event: "PARTNER_APP_UNINSTALLED" },
      "channel.updated",
      { change: "account_update", after: "PARTNER_APP_UNINSTALLED" },
    ],
    [
      "account_update",
      { event: "ACCOUNT_DELETED" },
      "channel.updated",
      { change: "account_update", after: "ACCOUNT_DELETED" },
    ],
    [
      "account_update",
      { event: "ACCOUNT_OFFBOARDED" },
      "channel.updated",
      { change: "account_update", after: "ACCOUNT_OFFBOARDED" },
    ],
    [
      "account_review_update",
      { decision: "APPROVED" },
      "channel.updated",
      { change: "account_review_update", after: "APPROVED" },
    ],
    [
      "account_alerts",
      { alert_info: { alert_type: "X" } },
      "channel.updated",
      { change: "account_alerts", after: "X", details: { alert_info: { alert_type: "X" } } },
    ],
    [
      "business_capability_update",
      { max_daily_conversations_per_business: 10 },
      "channel.updated",
      { change: "business_capability_update", after: "10" },
    ],
    [
      "phone_number_name_update",
      { decision: "REJECTED" },
      "channel.updated",
      { change: "phone_number_name_update", after: "REJECTED" },
    ],
    [
      "phone_number_quality_update",
      { event: "ONBOARDING" },
      "channel.updated",
      { change: "phone_number_quality_update", after: "ONBOARDING" },
    ],
    ["security", {}, "channel.updated", { change: "security" }],
    ["user_preferences", { value: "stop" }, "channel.updated", { change: "user_preferences", after: "stop" }],
    ["calls", { a: 1 }, "channel.updated", { change: "calls", details: { a: 1 } }],
    ["brand_new", { a: [1] }, "platform.event", { field: "brand_new", value: { a: [1] } }],
    ["constructor", { a: 1 }, "platform.event", { field: "constructor", value: { a: 1 } }],
  ];
  for (const [field, value, type, data] of rows) {
    const found = notice(field, value);
    t.match(
      found,
      { asset: { kind: "waba", id: "77" }, key: "chatapp", type, occurredAt: new Date(AT) },
      field,
    );
    t.same(found?.data, type === "channel.updated" ? { ...data, at: AT } : data, field);
    t.same(found?.raw, value);
    const disconnectEvents = [
      "PARTNER_REMOVED",
      "PARTNER_APP_UNINSTALLED",
      "ACCOUNT_DELETED",
      "ACCOUNT_OFFBOARDED",
    ];
    t.equal(found?.endsConnection, disconnectEvents.includes((data as { after?: string }).after ?? ""));
  }
  const partner = notice("account_update", { event: "PARTNER_REMOVED", waba_info: { waba_id: "88" } });
  t.same(
    partner?.asset,
    { kind: "waba", id: "88" },
    "the business in the update, not the one in the envelope",
  );
});

const conversation = (object: string, event: object) =>
  readOne(object, {
    messaging: [{ sender: { id: "9" }, recipient: { id: "77" }, timestamp: SECONDS * 1000, ...event }],
  });

t.test("conversation events of pages and photo accounts become message events", async (t) => {
  const rows: [object, object][] = [
    [
      { message: { mid: "m_1", text: "Hi", reply_to: { mid: "m_0" } } },
      {
        platform_message_id: "m_1",
        type: "text",
        content: { mid: "m_1", text: "Hi" },
        context: { message_id: "m_0" },
      },
    ],
    [
      { message: { mid: "m_1", attachments: [{ type: "image", payload: { url: "https://x" } }] } },
      { type: "image", content: { attachments: [{ type: "image" }] } },
    ],
    [{ message: { mid: "m_1", text: "ours", is_echo: true, app_id: 12 } }, { type: "echo" }],
    [{ message: { mid: "m_1", is_deleted: true } }, { type: "deleted", platform_message_id: "m_1" }],
    [
      { message: { mid: "m_1", text: "!", reply_to: { story: { id: "3" } } } },
      { context: { story: { id: "3" } } },
    ],
    [
      { postback: { mid: "m_2", title: "Start", payload: "GO" } },
      { platform_message_id: "m_2", type: "postback", content: { payload: "GO" } },
    ],
    [{ postback: { payload: "GO" } }, { type: "postback" }],
    [
      { reaction: { mid: "m_1", action: "react", emoji: "❤" } },
      { platform_message_id: "m_1", type: "reaction", content: { action: "react", emoji: "❤" } },
    ],
  ];
  for (const [event, data] of rows)
    for (const [object, kind, key] of [
      ["page", "page", "socialapp"],
      ["instagram", "photo_account", "photoapp"],
    ] as const)
      t.match(conversation(object, event), {
        asset: { kind, id: "77" },
        key,
        type: "message.received",
        occurredAt: new Date(AT),
        data: { from: { id: "9" }, at: AT, ...data },
        raw: event,
      });
  t.same(conversation("instagram", { read: { mid: "m_1" } })?.data, {
    message_id: null,
    platform_message_id: "m_1",
    status: "read",
    at: AT,
    recipient: "9",
    errors: [],
  });
  t.match(conversation("page", { referral: { ref: "x" } }), {
    type: "platform.event",
    key: "socialapp",
    data: { field: "referral", value: { referral: { ref: "x" } } },
  });
  const until = new Date(1790000000000);
  for (const [event, word] of [
    [{ delivery: { mids: ["m_1"], watermark: until.getTime() } }, "delivered"],
    [{ read: { watermark: until.getTime() } }, "read"],
  ] as const)
    t.match(conversation("page", event), {
      type: "message.status",
      watermark: { word, person: "9", until },
      data: { message_id: null, platform_message_id: null, status: word, recipient: "9" },
      raw: event,
    });
  const silent = [{ delivery: { mids: ["m_1"], watermark: 1 } }, { read: { watermark: 1790000000000 } }];
  t.match(read({ object: "page", entry: [{ id: "77", messaging: silent, standby: [{ message: {} }] }] }), {
    updates: 2,
    readings: [],
  });
});

t.test("a message and its later changes have different dedup keys, repetitions the same", async (t) => {
  const dedupKeyOf = (event: object) => conversation("instagram", event)?.dedupKey;
  const [sent, deleted] = [
    { message: { mid: "m_1", text: "a" } },
    { message: { mid: "m_1", is_deleted: true } },
  ];
  t.equal(dedupKeyOf(sent), dedupKeyOf({ message: { mid: "m_1", text: "b" } }));
  t.not(dedupKeyOf(sent), dedupKeyOf(deleted));
  const react = (action: string) => ({ reaction: { mid: "m_1", action } });
  t.equal(dedupKeyOf(react("react")), dedupKeyOf(react("react")));
  t.not(dedupKeyOf(react("react")), dedupKeyOf(react("unreact")));
  const approved = (time: number) =>
    readOne("whatsapp_business_account", {
      time,
      changes: [
        { field: "message_template_status_update", value: { message_template_id: 1, event: "APPROVED" } },
      ],
    })?.dedupKey;
  t.equal(approved(1_790_000_000), approved(1_790_000_000));
  t.not(approved(1_790_000_000), approved(1_790_000_001), "approved again after it was paused");
});

t.test("comments, posts and mentions become publishing events", async (t) => {
  const feed = (value: object) => readOne("page", { changes: [{ field: "feed", value }] });
  const comment = {
    item: "comment",
    comment_id: "5_6",
    post_id: "5",
    parent_id: "5",
    from: { id: "9", name: "Ana" },
    message: "Nice",
    created_time: SECONDS,
  };
  const verbs: [string, string][] = [
    ["add", "comment.created"],
    ["edited", "comment.updated"],
    ["edit", "comment.updated"],
    ["hide", "comment.updated"],
    ["unhide", "comment.updated"],
    ["remove", "comment.deleted"],
  ];
  for (const [verb, type] of verbs) {
    const found = feed({ ...comment, verb });
    t.match(
      found,
      { type, key: "publishing", asset: { kind: "page", id: "77" }, occurredAt: new Date(AT) },
      verb,
    );
    t.same(found?.data, {
      id: "5_6",
      post_id: "5",
      from: { id: "9", name: "Ana" },
      text: "Nice",
      verb,
      at: AT,
    });
  }
  t.equal(feed({ ...comment, verb: "add", parent_id: "5_4" })?.data.parent_id, "5_4");
  t.match(feed({ ...comment, verb: "levitate" }), { type: "platform.event", data: { field: "feed" } });
  t.match(feed({ item: "reaction", verb: "add", post_id: "5" }), { type: "platform.event" });
  t.match(feed({ item: "photo", verb: "add", post_id: "5", from: { id: "77" } }), {
    type: "post.updated",
    data: { id: "5", post_id: "5", verb: "add" },
  });
  const own = { ...comment, verb: "add", from: { id: "77" } };
  t.same(
    read({ object: "page", entry: [{ id: "77", changes: [{ field: "feed", value: own }] }] }).readings,
    [],
  );

  const photo = (field: string, value: object) => readOne("instagram", { changes: [{ field, value }] });
  const photoComment = {
    id: "178",
    text: "How much?",
    parent_id: "177",
    from: { id: "9", username: "ana" },
    media: { id: "3" },
  };
  for (const field of ["comments", "live_comments"])
    t.match(photo(field, photoComment), {
      type: "comment.created",
      key: "publishing",
      data: {
        id: "178",
        parent_id: "177",
        post_id: "3",
        from: { id: "9" },
        text: "How much?",
        verb: "add",
        at: AT,
      },
    });
  t.match(photo("mentions", { media_id: "3", comment_id: "178" }), {
    type: "mention.created",
    data: { id: "178", post_id: "3" },
  });
  t.match(photo("mentions", { media_id: "3" })?.data, { id: "3" });
  t.match(photo("story_insights", { media_id: "3" }), { type: "platform.event", key: "publishing" });
});

t.test("leads and ad account notices become marketing events with ids as text", async (t) => {
  const lead =
    '{"leadgen_id":120200000000000701,"page_id":77,"form_id":"120200000000000702","adgroup_id":120200000000000703,"created_time":1749416383}';
  const { readings } = read(
    `{"object":"page","entry":[{"id":"77","changes":[{"field":"leadgen","value":${lead}}]}]}`,
  );
  t.match(readings[0], {
    type: "lead.created",
    key: "marketing",
    data: {
      lead_id: "120200000000000701",
      form_id: "120200000000000702",
      ad_id: "120200000000000703",
      page_id: "77",
      created_at: AT,
    },
  });
  const rows: [string, object, string, object][] = [
    [
      "with_issues_ad_objects",
      { id: "120", level: "AD", error_code: "567", error_summary: "s", error_message: "m" },
      "ad_object.with_issues",
      { object_id: "120", level: "AD", error_code: "567", message: "m" },
    ],
    [
      "in_process_ad_objects",
      { id: "120", level: "AD_SET", status_name: "Paused" },
      "ad_object.status_changed",
      { object_id: "120", level: "AD_SET", status: "Paused" },
    ],
    [
      "field_changed",
      { object_id: "120", object_type: "adset", changed_fields: ["effective_status"] },
      "ad_object.status_changed",
      { object_id: "120", level: "AD_SET" },
    ],
    [
      "field_changed",
      { object_id: "120", changed_fields: ["name"] },
      "platform.event",
      { field: "field_changed", value: { object_id: "120", changed_fields: ["name"] } },
    ],
    [
      "creative_fatigue",
      { adgroup_id: "5", creative_fatigue_level: "HIGH", creative_fatigue_message: "m" },
      "creative.fatigue",
      { ad_id: "5", level: "HIGH", message: "m" },
    ],
    [
      "product_set_issue",
      { type: "x" },
      "platform.event",
      { field: "product_set_issue", value: { type: "x" } },
    ],
  ];
  for (const [field, value, type, data] of rows) {
    const found = readOne("ad_account", { changes: [{ field, value }] });
    t.match(found, {
      asset: { kind: "ad_account", id: "77" },
      key: "marketing",
      type,
      occurredAt: new Date(AT),
    });
    t.same(found?.data, data);
  }
});

t.test("an unreadable update is forwarded raw and does not affect the others", async (t) => {
  const deep = `${"[".repeat(9_000)}1${"]".repeat(9_000)}`;
  const good = '{"id":"wamid.g","from":"1","timestamp":"1749416383","type":"text","text":{"body":"ok"}}';
  const odd = ["null", "5", '"x"', "{}", '{"id":{}}', `{"id":"wamid.d","type":"text","text":${deep}}`];
  const text = `{"object":"whatsapp_business_account","entry":[null,7,{},{"id":"1","changes":{}},{"id":"1","changes":[null,{"field":"messages"},
    {"field":"messages","value":{"metadata":{"phone_number_id":"106"},"messages":[${[...odd, good].join()}],"statuses":[{}]}}]}]}`;
  const { updates, readings } = readAll(text);
  const emptyEntries = 4;
  t.equal(updates, emptyEntries + 1 + 1 + odd.length + 1 + 1);
  const rawEvents = readings
    .filter(({ type }) => type === "platform.event")
    .map(({ data, raw }) => ({ data: data.text, raw: raw.text }));
  for (const one of odd)
    t.ok(
      rawEvents.some(({ data, raw }) => raw === one && data === `{"field":"messages","value":${one}}`),
      one.slice(0, 40),
    );
  t.match(readings.find(({ type }) => type === "message.received")?.raw.text, good);
});

t.test("the asset of an update with too many levels follows from its entry and field", async (t) => {
  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const change = (field: string) => `"changes":[{"field":"${field}","value":{"metadata":{},"x":${deep}}}]`;
  const rows: [string, string, object][] = [
    ["page", `"messaging":[{"sender":{"id":"9"},"message":${deep}}]`, { kind: "page", id: "77" }],
    ["instagram", change("comments"), { kind: "photo_account", id: "77" }],
    ["ad_account", change("with_issues_ad_objects"), { kind: "ad_account", id: "77" }],
    ["whatsapp_business_account", change("account_update"), { kind: "waba", id: "77" }],
    [
      "whatsapp_business_account",
      change("user_preferences"),
      { kind: "waba", id: "77", requiresSingleOwner: true },
    ],
  ];
  for (const [object, content, asset] of rows) {
    const { readings } = readAll(`{"object":"${object}","entry":[{"id":"77",${content}}]}`);
    t.same(
      readings.map((reading) => [reading.type, reading.asset]),
      [["platform.event", asset]],
      content.slice(0, 40),
    );
    t.ok(readings[0]?.raw.text.includes(deep));
  }
  const { readings } = readAll(`{"object":"page","x":${deep},"entry":[{"id":${deep},"messaging":[{}]}]}`);
  t.match(readings, [{ asset: { kind: "page", id: "" } }], "deep values outside of updates are ignored");
});

t.test("an update without a valid time gets the time at which it was received", async (t) => {
  for (const timestamp of ["soon", "-1", "1e999", "99999999999999999", null, {}, "", 12])
    t.match(
      chat({ messages: [{ id: "w", from: "1", type: "text", timestamp }] }),
      { occurredAt: RECEIVED_AT, data: { at: RECEIVED_AT.toISOString() } },
      String(timestamp),
    );
});

t.test("webhooks of unknown objects produce no events", async (t) => {
  for (const webhook of [
    {},
    { object: "permissions", entry: [{ id: "1" }, {}] },
    { object: "page" },
    { object: "page", entry: "x" },
    { object: 5, entry: [] },
  ])
    t.same(read(webhook).readings, []);
  t.match(read({ object: "permissions", entry: [{ id: "1" }, {}] }), { object: "unknown", updates: 2 });
});

t.test("a sender never gets another contact's name", async (t) => {
  const contacts = [{ profile: { name: "Ana" }, wa_id: "111", user_id: "US.1" }];
  const from = (message: object) =>
    chat({ contacts, messages: [{ id: "w", type: "text", ...message }] })?.data.from;
  t.same(from({ from: "222", from_user_id: "US.2" }), {
    id: "222",
    phone: "222",
    business_scoped_id: "US.2",
  });
  t.same(from({ from: "222" }), { id: "222", phone: "222" });
  t.match(from({}), { id: "111", name: "Ana" }, "the only contact is used when no id contradicts it");
});

t.test("changes of an old comment are identified by the time of the change", async (t) => {
  const commentEvent = (verb: string, time: number) => {
    const value = {
      item: "comment",
      verb,
      comment_id: "1_2",
      post_id: "1",
      created_time: SECONDS - 90 * 86_400,
    };
    return readOne("page", { time, changes: [{ field: "feed", value }] });
  };
  const dedupKeyOf = new Set(
    ["edited", "edited", "hide", "unhide", "hide", "remove"].map(
      (verb, index) => commentEvent(verb, SECONDS + index)?.dedupKey,
    ),
  );
  t.equal(dedupKeyOf.size, 6);
  t.equal(commentEvent("hide", SECONDS)?.dedupKey, commentEvent("hide", SECONDS)?.dedupKey);
  t.match(commentEvent("remove", SECONDS), { occurredAt: new Date(AT), data: { at: AT } });
  t.equal(
    commentEvent("add", SECONDS)?.occurredAt?.getTime(),
    (SECONDS - 90 * 86_400) * 1000,
    "a new comment has its creation time",
  );
});

t.test("posts are identified by their full content", async (t) => {
  const dedupKeyOf = (value: object) =>
    readOne("page", {
      changes: [{ field: "feed", value: { post_id: "5", verb: "add", created_time: SECONDS, ...value } }],
    })?.dedupKey;
  t.not(dedupKeyOf({ item: "photo", photo_id: "61" }), dedupKeyOf({ item: "photo", photo_id: "62" }));
  t.not(dedupKeyOf({ item: "post", message: "one" }), dedupKeyOf({ item: "post", message: "two" }));
});

t.test("leads and reactions are identified independently of the envelope's time", async (t) => {
  const lead = (time: number) =>
    readOne("page", {
      time,
      changes: [{ field: "leadgen", value: { leadgen_id: 4, created_time: SECONDS } }],
    })?.dedupKey;
  t.equal(lead(SECONDS), lead(SECONDS + 60));
  const reaction = (time: number) =>
    readOne("page", { time, messaging: [{ timestamp: 1, reaction: { mid: "m_1", action: "react" } }] })
      ?.dedupKey;
  t.equal(reaction(SECONDS), reaction(SECONDS + 60));
});

t.test("a conversation event's kind is found next to unknown fields", async (t) => {
  const event = { hop_context: [], sender: { id: "9" }, message: { mid: "m_1", text: "Hi" } };
  t.match(readOne("page", { messaging: [event] }), { type: "message.received" });
});

t.test("a conversation event without a time uses the envelope's time", async (t) => {
  t.match(readOne("page", { messaging: [{ sender: { id: "9" }, postback: { payload: "GO" } }] }), {
    occurredAt: new Date(AT),
    data: { at: AT },
  });
});

t.test("a message the business deletes is not a repetition of the message", async (t) => {
  const echo = conversation("instagram", { message: { mid: "m_1", is_echo: true, text: "a" } });
  const gone = conversation("instagram", { message: { mid: "m_1", is_echo: true, is_deleted: true } });
  t.equal(gone?.data.type, "deleted");
  t.not(echo?.dedupKey, gone?.dedupKey);
});

t.test("a template review without an outcome is not treated as a rejection", async (t) => {
  for (const event of [undefined, null, {}])
    t.equal(
      notice("message_template_status_update", { message_template_id: 1, event })?.type,
      "platform.event",
    );
});

t.test("personal data is delivered only to the number's owner or a single owner", async (t) => {
  for (const field of ["messages", "smb_message_echoes", "history", "brand_new"]) {
    t.same(
      notice(field, { metadata: { phone_number_id: "106" }, x: 1 })?.asset,
      { kind: "number", id: "106" },
      field,
    );
    t.same(notice(field, { x: 1 })?.asset, { kind: "waba", id: "77", requiresSingleOwner: true }, field);
  }
  t.same(notice("account_review_update", {})?.asset, { kind: "waba", id: "77" });
});
