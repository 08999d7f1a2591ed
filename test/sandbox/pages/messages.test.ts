import t from "tap";
import { PAGE_SCOPES } from "../../../src/sandbox/built-in-assets.ts";
import {
  DEMO_PAGE_TOKEN,
  formatRefusal,
  INSTAGRAM_ID,
  issuePageToken,
  issueToken,
  PAGE_ID,
  postJson,
} from "../../fixtures/sandbox/assets.ts";
import { callSandbox, startSandbox } from "../../fixtures/sandbox/sandbox.ts";

const token = DEMO_PAGE_TOKEN;
const recipient = { id: "2400000000000024" };
const url = "https://example.com/a.png";
const attachment = (type: string, payload: object = { url }) => ({ attachment: { type, payload } });

const send = (base: string, account: string, message: object) =>
  postJson(`${base}/${account}/messages`, { recipient, ...message }, token);

t.test("a message is answered with its recipient and its id", async (t) => {
  const { base } = await startSandbox(t);
  for (const account of [PAGE_ID, INSTAGRAM_ID, "me"]) {
    const answer = await send(base, account, { messaging_type: "RESPONSE", message: { text: "Hi" } });
    t.equal(answer.status, 200, account);
    t.match(answer.body, { recipient_id: recipient.id, message_id: /^m_/ });
  }
});

t.test("a message can be sent as a form with its parts as JSON", async (t) => {
  const { base } = await startSandbox(t);
  const form = { recipient: JSON.stringify(recipient), message: JSON.stringify({ text: "Hi" }) };
  t.match(await callSandbox(`${base}/${PAGE_ID}/messages`, { token, form }), {
    status: 200,
    body: { recipient_id: recipient.id, message_id: /^m_/ },
  });
});

t.test("the author of a comment can be answered privately", async (t) => {
  const { base } = await startSandbox(t);
  const answer = await send(base, PAGE_ID, { recipient: { comment_id: "1_2" }, message: { text: "Hi" } });
  t.match(answer.body, { recipient_id: /^\d+$/, message_id: /^m_/ });
});

t.test("a sender action is answered with the recipient only", async (t) => {
  const { base } = await startSandbox(t);
  const senderActions = [
    { sender_action: "typing_on" },
    { sender_action: "TYPING_OFF" },
    { sender_action: "mark_seen" },
    { sender_action: "react", payload: { message_id: "m_1", reaction: "love" } },
    { sender_action: "unreact", payload: { message_id: "m_1" } },
  ];
  for (const account of [PAGE_ID, INSTAGRAM_ID])
    for (const senderAction of senderActions)
      t.same(
        (await send(base, account, senderAction)).body,
        { recipient_id: recipient.id },
        senderAction.sender_action,
      );
});

const longMessage = (length: number) => ({ message: { text: "é".repeat(length) } });
const tagged = (tag?: string) => ({ messaging_type: "MESSAGE_TAG", tag, message: { text: "Hi" } });
const quickReplies = (length: number) => ({
  message: { text: "Hi", quick_replies: Array.from({ length }, () => ({ content_type: "text" })) },
});

/** Expected outcomes on Messenger and on the photo platform. */
const OUTCOMES: Record<string, [message: object, messenger: string, instagram: string]> = {
  "an update": [{ messaging_type: "UPDATE", message: { text: "Hi" } }, "200", "200"],
  "a human agent tag": [tagged("HUMAN_AGENT"), "200", "200"],
  "a utility message": [{ messaging_type: "UTILITY", message: { text: "Hi" } }, "200", "400 100"],
  "an obsolete tag": [tagged("ACCOUNT_UPDATE"), "400 100", "400 100"],
  "no tag": [tagged(), "400 100", "400 100"],
  "an unknown messaging type": [{ messaging_type: "SPAM", message: { text: "Hi" } }, "400 100", "400 100"],
  "a silent message": [{ notification_type: "NO_PUSH", message: { text: "Hi" } }, "200", "200"],
  "an unknown notification type": [
    { notification_type: "LOUD", message: { text: "Hi" } },
    "400 100",
    "400 100",
  ],
  "a text of 500 two-byte characters": [longMessage(500), "200", "200"],
  "a text of 501 two-byte characters": [longMessage(501), "200", "400 100"],
  "a text of 2000 characters": [longMessage(2000), "200", "400 100"],
  "a text of 2001 characters": [longMessage(2001), "400 100", "400 100"],
  "an empty text": [{ message: { text: "" } }, "400 100", "400 100"],
  "an image": [{ message: attachment("image") }, "200", "200"],
  "a reused image": [{ message: attachment("image", { attachment_id: "5" }) }, "200", "200"],
  "an audio file": [{ message: attachment("audio") }, "200", "200"],
  "a video": [{ message: attachment("video") }, "200", "200"],
  "a file": [{ message: attachment("file") }, "200", "400 100 2018047"],
  "a template": [{ message: attachment("template", { template_type: "button" }) }, "200", "200"],
  "an unknown attachment": [{ message: attachment("song") }, "400 100 2018047", "400 100 2018047"],
  "an image without a url": [{ message: attachment("image", {}) }, "400 100", "400 100"],
  "an image with an invalid url": [
    { message: attachment("image", { url: "file:///etc" }) },
    "400 100",
    "400 100",
  ],
  "a text with an image": [{ message: { text: "Hi", ...attachment("image") } }, "400 100", "400 100"],
  "a reply": [{ message: { text: "Hi" }, reply_to: { mid: "m_0" } }, "200", "200"],
  "a reply without a message id": [{ message: { text: "Hi" }, reply_to: {} }, "400 100", "400 100"],
  "13 quick replies": [quickReplies(13), "200", "200"],
  "14 quick replies": [quickReplies(14), "400 100", "400 100"],
  "neither message nor sender action": [{}, "400 100", "400 100"],
  "both message and sender action": [
    { message: { text: "Hi" }, sender_action: "typing_on" },
    "400 100",
    "400 100",
  ],
  "an empty message": [{ message: {} }, "400 100", "400 100"],
  "a message that is a string": [{ message: "Hi" }, "400 100", "400 100"],
  "an unknown sender action": [{ sender_action: "wave" }, "400 100", "400 100"],
  "a reaction without a message id": [{ sender_action: "react" }, "400 100", "400 100"],
  "a reaction without an emotion": [
    { sender_action: "react", payload: { message_id: "m_1" } },
    "400 100",
    "400 100",
  ],
  "no recipient": [{ recipient: undefined, message: { text: "Hi" } }, "400 100", "400 100"],
  "an empty recipient": [{ recipient: {}, message: { text: "Hi" } }, "400 100", "400 100"],
  "a name as recipient": [{ recipient: { id: "Ana" }, message: { text: "Hi" } }, "400 100", "400 100"],
};

t.test("a message is accepted or refused by its content", async (t) => {
  const { base } = await startSandbox(t);
  for (const [what, [message, messenger, instagram]] of Object.entries(OUTCOMES)) {
    t.equal(formatRefusal(await send(base, PAGE_ID, message)), messenger, `Messenger: ${what}`);
    t.equal(formatRefusal(await send(base, INSTAGRAM_ID, message)), instagram, `photo platform: ${what}`);
  }
});

/** Expected refusals by the ending of the recipient's id. */
const REFUSALS_BY_SUFFIX: Record<string, [messenger: string, instagram: string]> = {
  "0010": ["400 10 2018278", "400 10 2534022"],
  "0551": ["400 551 1545041", "400 551 1545041"],
  "0001": ["400 100 2018001", "400 100 2018001"],
  "0108": ["400 10 2018108", "400 10 2018108"],
};

t.test("recipients with a magic ending are always refused", async (t) => {
  const { base } = await startSandbox(t);
  for (const [suffix, [messenger, instagram]] of Object.entries(REFUSALS_BY_SUFFIX))
    for (let time = 0; time < 2; time += 1) {
      const message = { recipient: { id: `24${suffix}` }, message: { text: "Hi" } };
      t.equal(formatRefusal(await send(base, PAGE_ID, message)), messenger, `Messenger: ${suffix}`);
      t.equal(formatRefusal(await send(base, INSTAGRAM_ID, message)), instagram, `photo platform: ${suffix}`);
    }
});

t.test("the first message to a recipient ending in 0429 is throttled", async (t) => {
  const { base } = await startSandbox(t);
  const message = { recipient: { id: "240429" }, message: { text: "Hi" } };
  t.equal(formatRefusal(await send(base, PAGE_ID, message)), "400 80006");
  t.equal(formatRefusal(await send(base, INSTAGRAM_ID, message)), "400 80002");
  for (const account of [PAGE_ID, INSTAGRAM_ID]) t.equal((await send(base, account, message)).status, 200);
});

t.test("only a page token can send", async (t) => {
  const { base } = await startSandbox(t);
  const message = { recipient, message: { text: "Hi" } };
  const person = issueToken({ kind: "user", assets: [PAGE_ID, INSTAGRAM_ID], scopes: PAGE_SCOPES });
  for (const account of [PAGE_ID, INSTAGRAM_ID, "me"])
    t.equal(
      formatRefusal(await postJson(`${base}/${account}/messages`, message, person)),
      "403 210",
      account,
    );
  t.equal(
    formatRefusal(await postJson(`${base}/me/messages`, message, issuePageToken([]))),
    "400 100",
    "a page token without a page",
  );
});
