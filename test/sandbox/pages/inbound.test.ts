import t from "tap";
import {
  changesOf,
  DEMO_PAGE_TOKEN,
  formatRefusal,
  INSTAGRAM_ID,
  isSigned,
  issuePageToken,
  messagingOf,
  PAGE_ID,
  startSandboxWithReceiver,
} from "../../fixtures/sandbox/assets.ts";
import { callSandbox } from "../../fixtures/sandbox/sandbox.ts";
import { until } from "../../fixtures/until.ts";

type SandboxWithReceiver = Awaited<ReturnType<typeof startSandboxWithReceiver>>;

const person = "2400000000000024";

const sendInbound = ({ origin }: SandboxWithReceiver, message: object) =>
  callSandbox(`${origin}/_sandbox/inbound`, { json: { channel: PAGE_ID, from: person, ...message } });

/** Sends an inbound event and returns its webhook. */
async function receiveInbound(sandbox: SandboxWithReceiver, message: object) {
  const before = sandbox.received.length;
  const answer = await sendInbound(sandbox, message);
  if (answer.status !== 202) throw new Error(`not accepted: ${JSON.stringify(answer.body)}`);
  return until("the webhook", () => sandbox.received[before]);
}

const SHARED = {
  text: { message: { mid: /^m_/, text: String } },
  quick_reply: { message: { quick_reply: { payload: String } } },
  image: { message: { attachments: [{ type: "image", payload: { url: String } }] } },
  video: { message: { attachments: [{ type: "video" }] } },
  audio: { message: { attachments: [{ type: "audio" }] } },
  postback: { postback: { mid: /^m_/, title: String, payload: String } },
  reaction: { reaction: { mid: /^m_/, action: "react", reaction: "love", emoji: "❤" } },
};

const EVENTS: Record<string, Record<string, object>> = {
  [PAGE_ID]: {
    ...SHARED,
    document: { message: { attachments: [{ type: "file" }] } },
    file: { message: { attachments: [{ type: "file" }] } },
    read: { read: { watermark: Number } },
  },
  [INSTAGRAM_ID]: {
    ...SHARED,
    story_reply: { message: { reply_to: { story: { id: String, url: String } } } },
    unsend: { message: { mid: /^m_/, is_deleted: true } },
    read: { read: { mid: /^m_/ } },
  },
};

t.test("every conversation event arrives signed, with generated content when none is given", async (t) => {
  const sandbox = await startSandboxWithReceiver(t);
  for (const [channel, events] of Object.entries(EVENTS)) {
    const object = channel === PAGE_ID ? "page" : "instagram";
    for (const [type, event] of Object.entries(events)) {
      const webhook = await receiveInbound(sandbox, { channel, type });
      t.ok(isSigned(webhook));
      t.match(webhook.body, { object, entry: [{ id: channel, time: Number }] });
      const [found] = messagingOf([webhook], object);
      t.match(
        found,
        { sender: { id: person }, recipient: { id: channel }, timestamp: Number, ...event },
        `${object}: ${type}`,
      );
    }
  }
});

t.test("content arrives as given", async (t) => {
  const sandbox = await startSandboxWithReceiver(t);
  const text = await receiveInbound(sandbox, {
    type: "text",
    content: { text: "Olá", reply_to: { mid: "m_0" } },
  });
  t.match(messagingOf([text], "page"), [{ message: { text: "Olá", reply_to: { mid: "m_0" } } }]);
  const url = "https://example.com/mine.png";
  const image = await receiveInbound(sandbox, { type: "image", content: { url } });
  t.match(messagingOf([image], "page"), [
    { message: { attachments: [{ type: "image", payload: { url } }] } },
  ]);
});

t.test("comments arrive as changes", async (t) => {
  const sandbox = await startSandboxWithReceiver(t);
  const onPage = await receiveInbound(sandbox, { type: "comment", content: { message: "Nice" } });
  t.match(onPage.body, { object: "page", entry: [{ id: PAGE_ID }] });
  t.match(changesOf([onPage], "feed"), [
    {
      item: "comment",
      verb: "add",
      comment_id: /^\d+_\d+$/,
      post_id: String,
      from: { id: person, name: String },
      message: "Nice",
      created_time: Number,
    },
  ]);
  const onPhoto = await receiveInbound(sandbox, { channel: INSTAGRAM_ID, type: "comment" });
  t.match(onPhoto.body, { object: "instagram", entry: [{ id: INSTAGRAM_ID }] });
  t.match(changesOf([onPhoto], "comments"), [
    {
      id: String,
      text: String,
      from: { id: person, username: String },
      media: { id: String, media_product_type: "FEED" },
    },
  ]);
});

t.test("an invalid event is refused", async (t) => {
  const sandbox = await startSandboxWithReceiver(t);
  const refused = [
    { type: "song" },
    { type: "constructor" },
    { type: "leadgen", channel: INSTAGRAM_ID },
    { type: "text", from: "Ana" },
    { type: "text", content: "Hi" },
    { type: "leadgen", content: { form_id: "mine" } },
    { type: "leadgen", content: { field_data: "mine" } },
  ];
  for (const message of refused)
    t.equal((await sendInbound(sandbox, message)).status, 400, JSON.stringify(message));
  t.same(sandbox.received, []);
});

const DEMO_LEAD = "120200000000000701";

t.test("the built-in lead is readable with leads_retrieval", async (t) => {
  const { base } = await startSandboxWithReceiver(t);
  const address = `${base}/${DEMO_LEAD}`;
  const fields = "field_data,created_time,ad_id,form_id";
  t.match((await callSandbox(address, { token: DEMO_PAGE_TOKEN, query: { fields } })).body, {
    id: DEMO_LEAD,
    created_time: "2026-09-21T14:13:20+0000",
    ad_id: /^\d+$/,
    form_id: /^\d+$/,
    field_data: [{ name: "full_name" }, { name: "email", values: ["ana@example.com"] }, {}],
  });
  t.equal(
    formatRefusal(await callSandbox(address, { token: DEMO_PAGE_TOKEN, query: { fields: "shoe_size" } })),
    "400 100",
  );
  t.equal(formatRefusal(await callSandbox(address, { token: issuePageToken([PAGE_ID]) })), "403 10");
  t.equal(
    formatRefusal(await callSandbox(address, { token: issuePageToken(["1"], ["leads_retrieval"]) })),
    "400 100 33",
  );
});

t.test("a lead webhook has bare numbers as ids, and its answers can be fetched", async (t) => {
  const sandbox = await startSandboxWithReceiver(t);
  const field_data = [{ name: "email", values: ["bia@example.com"] }];
  const webhook = await receiveInbound(sandbox, { type: "leadgen", content: { field_data } });
  const id = /"leadgen_id":(\d{18}),/.exec(webhook.raw)?.[1];
  t.ok(id, "digits without quotes, too long for a double");
  t.match(changesOf([webhook], "leadgen"), [
    { page_id: Number(PAGE_ID), form_id: Number, ad_id: Number, adgroup_id: Number, created_time: Number },
  ]);
  const lead = await callSandbox(`${sandbox.base}/${id}`, {
    token: DEMO_PAGE_TOKEN,
    query: { fields: "field_data" },
  });
  t.same(lead.body, { id, field_data });
});

t.test("long integers of a message are preserved", async (t) => {
  const sandbox = await startSandboxWithReceiver(t);
  const body = `{"channel":"${PAGE_ID}","from":"1","type":"text","content":{"tag":12345678901234567890}}`;
  t.equal((await callSandbox(`${sandbox.origin}/_sandbox/inbound`, { body })).status, 202);
  const { raw } = await until("the webhook", () => sandbox.received[0]);
  t.match(raw, '"tag":12345678901234567890');
});

t.test("an event without a subscription to its field does not arrive", async (t) => {
  const sandbox = await startSandboxWithReceiver(t);
  const subscribe = (account: string, subscribed_fields: string) =>
    callSandbox(`${sandbox.base}/${account}/subscribed_apps`, {
      token: DEMO_PAGE_TOKEN,
      form: { subscribed_fields },
    });
  const sent = async (message: object) => (await sendInbound(sandbox, message)).body.sent;
  const types: Record<string, Record<string, string>> = {
    [PAGE_ID]: {
      messages: "text",
      messaging_postbacks: "postback",
      message_reactions: "reaction",
      message_reads: "read",
      feed: "comment",
      leadgen: "leadgen",
    },
    [INSTAGRAM_ID]: { messages: "image", messaging_seen: "read", comments: "comment" },
  };
  for (const [channel, fields] of Object.entries(types))
    for (const field of Object.keys(fields)) {
      t.equal((await subscribe(channel, field)).status, 200, field);
      for (const [other, type] of Object.entries(fields))
        t.equal(await sent({ channel, type }), other === field, `${type} with ${field}`);
    }
});
