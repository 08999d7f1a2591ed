import t from "tap";
import { DAY } from "../../../src/runtime/durations.ts";
import { startApi } from "../../fixtures/http/api.ts";
import { makeBatchSender } from "../../fixtures/messages/batches.ts";
import { RECIPIENT_PHONE, textMessage } from "../../fixtures/messages/messages.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";

const componentsFor = (name: string) => [{ type: "body", parameters: [{ type: "text", text: name }] }];
const TEMPLATE = {
  name: "order_update",
  language: { code: "pt_BR" },
  components: componentsFor("customer"),
  future_field: { any: [1, null] },
};
const NO_OPTIONS = { context: null, messaging_type: null, tag: null };
const PAGE_RECIPIENT = "24012345678901234";

t.test("content of a message", async (t) => {
  const api = await startApi(t);
  const sender = await makeBatchSender(api);
  const channel = await makeChannel(api, sender.tenant);
  const page = await makeChannel(api, sender.tenant, { platform: "socialapp" });

  const readDetail = async (id: string) => {
    const { type, content, context, messaging_type, tag } = (await sender.read(id)).body;
    return { type, content, context, messaging_type, tag };
  };

  const ACCEPTED: [kind: string, message: object, expected: object][] = [
    ["a text", {}, { type: "text", content: { body: "Hi" } }],
    [
      "a reply",
      { context: { message_id: "wamid.x" } },
      { type: "text", content: { body: "Hi" }, context: { message_id: "wamid.x" } },
    ],
    [
      "a template",
      { type: "template", text: undefined, template: TEMPLATE },
      { type: "template", content: TEMPLATE },
    ],
    [
      "contacts",
      { type: "contacts", text: undefined, contacts: [{ name: { formatted_name: "Ana" } }] },
      { type: "contacts", content: [{ name: { formatted_name: "Ana" } }] },
    ],
    [
      "a page message with a tag",
      { channel_id: page, to: PAGE_RECIPIENT, messaging_type: "MESSAGE_TAG", tag: "HUMAN_AGENT" },
      { type: "text", content: { body: "Hi" }, messaging_type: "MESSAGE_TAG", tag: "HUMAN_AGENT" },
    ],
  ];
  for (const [kind, message, expected] of ACCEPTED)
    t.test(`${kind} is read as it was accepted`, async (t) => {
      const { body } = await sender.send(textMessage(channel, message));
      t.same(await readDetail(body.message_id), { ...NO_OPTIONS, ...expected });
    });

  t.test("an integer beyond 2^53 is read as it was written", async (t) => {
    const interactive = '{"type":"flow","action":{"order":9007199254740993}}';
    const { body } = await api.call("POST", "/api/outbound/send", {
      headers: sender.headers,
      raw: `{"channel_id":"${channel}","to":"${RECIPIENT_PHONE}","type":"interactive","interactive":${interactive}}`,
    });
    t.match((await sender.read(body.message_id)).text, `"content":${interactive}`);
  });

  t.test("the fields of a message replace those of its batch", async (t) => {
    const id = await sender.batches.start({
      channel_id: channel,
      type: "template",
      template: TEMPLATE,
      messages: [{ to: "5511900000001", components: componentsFor("Ana") }, { to: "5511900000002" }],
    });
    const [own, common] = await sender.batches.messages(id);
    const type = "template";
    t.same(await readDetail(own?.message_id as string), {
      ...NO_OPTIONS,
      type,
      content: { ...TEMPLATE, components: componentsFor("Ana") },
    });
    t.same(await readDetail(common?.message_id as string), { ...NO_OPTIONS, type, content: TEMPLATE });
  });

  t.test("the messages of a batch have its tag, and no content once the batch is deleted", async (t) => {
    const id = await sender.batches.start({
      channel_id: page,
      type: "text",
      text: { body: "Hello" },
      messaging_type: "MESSAGE_TAG",
      tag: "HUMAN_AGENT",
      messages: [{ to: PAGE_RECIPIENT }, { to: PAGE_RECIPIENT, body: "Hello Ana" }],
    });
    const messages = await sender.batches.messages(id);
    const options = { context: null, messaging_type: "MESSAGE_TAG", tag: "HUMAN_AGENT" };
    const readAll = () => Promise.all(messages.map(({ message_id }) => readDetail(message_id)));
    const detail = (content: object | null) => ({ ...options, type: "text", content });
    t.same(await readAll(), [detail({ body: "Hello" }), detail({ body: "Hello Ana" })]);
    await api.db.query("delete from batches where id = $1", [id]);
    t.same(await readAll(), [detail(null), detail(null)]);
  });

  t.test("the reply to a cancellation has no content", async (t) => {
    const send_at = new Date(Date.now() + DAY).toISOString();
    const { body } = await sender.send(textMessage(channel, { send_at }));
    const path = `/api/outbound/messages/${body.message_id}`;
    const cancelled = await api.call("DELETE", path, { headers: sender.headers });
    t.equal(cancelled.body.status, "cancelled");
    t.notOk("content" in cancelled.body);
    t.same((await readDetail(body.message_id)).content, { body: "Hi" });
  });
});
