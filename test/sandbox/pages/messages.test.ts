import t from "tap";
import { PAGE_SCOPES } from "../../../src/sandbox/built-in-assets.ts";
import {
  DEMO_PAGE,
  INSTAGRAM,
  issueToken,
  PAGE,
  pageToken,
  post,
  refusal,
} from "../../fixtures/sandbox/assets.ts";
import { speak, startSandbox } from "../../fixtures/sandbox/sandbox.ts";

const token = DEMO_PAGE;
const recipient = { id: "2400000000000024" };
const url = "https://example.com/a.png";
const attachment = (type: string, payload: object = { url }) => ({ attachment: { type, payload } });

const send = (base: string, account: string, message: object) =>
  post(`${base}/${account}/messages`, { recipient, ...message }, token);

t.test("a message is answered with its recipient and its id", async (t) => {
  const { base } = await startSandbox(t);
  for (const account of [PAGE, INSTAGRAM, "me"]) {
    const answer = await send(base, account, { messaging_type: "RESPONSE", message: { text: "Hi" } });
    t.equal(answer.status, 200, account);
    t.match(answer.body, { recipient_id: recipient.id, message_id: /^m_/ });
  }
});

t.test("a message may come as a form, its parts in JSON", async (t) => {
  const { base } = await startSandbox(t);
  const form = { recipient: JSON.stringify(recipient), message: JSON.stringify({ text: "Hi" }) };
  t.match(await speak(`${base}/${PAGE}/messages`, { token, form }), {
    status: 200,
    body: { recipient_id: recipient.id, message_id: /^m_/ },
  });
});

t.test("who commented gets a private answer", async (t) => {
  const { base } = await startSandbox(t);
  const answer = await send(base, PAGE, { recipient: { comment_id: "1_2" }, message: { text: "Hi" } });
  t.match(answer.body, { recipient_id: /^\d+$/, message_id: /^m_/ });
});

t.test("a sign is answered with the recipient alone", async (t) => {
  const { base } = await startSandbox(t);
  const signs = [
    { sender_action: "typing_on" },
    { sender_action: "TYPING_OFF" },
    { sender_action: "mark_seen" },
    { sender_action: "react", payload: { message_id: "m_1", reaction: "love" } },
    { sender_action: "unreact", payload: { message_id: "m_1" } },
  ];
  for (const account of [PAGE, INSTAGRAM])
    for (const sign of signs)
      t.same((await send(base, account, sign)).body, { recipient_id: recipient.id }, sign.sender_action);
});

const long = (length: number) => ({ message: { text: "é".repeat(length) } });
const tagged = (tag?: string) => ({ messaging_type: "MESSAGE_TAG", tag, message: { text: "Hi" } });
const quickReplies = (length: number) => ({
  message: { text: "Hi", quick_replies: Array.from({ length }, () => ({ content_type: "text" })) },
});

/** What happens on Messenger, and on the photo platform. */
const OUTCOMES: Record<string, [message: object, messenger: string, instagram: string]> = {
  "an update": [{ messaging_type: "UPDATE", message: { text: "Hi" } }, "200", "200"],
  "a message of a person": [tagged("HUMAN_AGENT"), "200", "200"],
  "a message of use": [{ messaging_type: "UTILITY", message: { text: "Hi" } }, "200", "400 100"],
  "a tag of old": [tagged("ACCOUNT_UPDATE"), "400 100", "400 100"],
  "no tag": [tagged(), "400 100", "400 100"],
  "an unknown messaging type": [{ messaging_type: "SPAM", message: { text: "Hi" } }, "400 100", "400 100"],
  "a quiet message": [{ notification_type: "NO_PUSH", message: { text: "Hi" } }, "200", "200"],
  "an unknown notification": [{ notification_type: "LOUD", message: { text: "Hi" } }, "400 100", "400 100"],
  "a text of 500 letters of two bytes": [long(500), "200", "200"],
  "a text of 501 letters of two bytes": [long(501), "200", "400 100"],
  "a text of 2000 letters": [long(2000), "200", "400 100"],
  "a text of 2001 letters": [long(2001), "400 100", "400 100"],
  "an empty text": [{ message: { text: "" } }, "400 100", "400 100"],
  "a picture": [{ message: attachment("image") }, "200", "200"],
  "a picture sent before": [{ message: attachment("image", { attachment_id: "5" }) }, "200", "200"],
  "a sound": [{ message: attachment("audio") }, "200", "200"],
  "a film": [{ message: attachment("video") }, "200", "200"],
  "a file": [{ message: attachment("file") }, "200", "400 100 2018047"],
  "a template": [{ message: attachment("template", { template_type: "button" }) }, "200", "200"],
  "an unknown attachment": [{ message: attachment("song") }, "400 100 2018047", "400 100 2018047"],
  "a picture that is nowhere": [{ message: attachment("image", {}) }, "400 100", "400 100"],
  "a picture that is no link": [
    { message: attachment("image", { url: "file:///etc" }) },
    "400 100",
    "400 100",
  ],
  "a text with a picture": [{ message: { text: "Hi", ...attachment("image") } }, "400 100", "400 100"],
  "an answer": [{ message: { text: "Hi" }, reply_to: { mid: "m_0" } }, "200", "200"],
  "an answer to nothing": [{ message: { text: "Hi" }, reply_to: {} }, "400 100", "400 100"],
  "13 quick replies": [quickReplies(13), "200", "200"],
  "14 quick replies": [quickReplies(14), "400 100", "400 100"],
  "neither message nor sign": [{}, "400 100", "400 100"],
  "both message and sign": [{ message: { text: "Hi" }, sender_action: "typing_on" }, "400 100", "400 100"],
  "an empty message": [{ message: {} }, "400 100", "400 100"],
  "a message that is a text": [{ message: "Hi" }, "400 100", "400 100"],
  "an unknown sign": [{ sender_action: "wave" }, "400 100", "400 100"],
  "a reaction to nothing": [{ sender_action: "react" }, "400 100", "400 100"],
  "a reaction without feeling": [
    { sender_action: "react", payload: { message_id: "m_1" } },
    "400 100",
    "400 100",
  ],
  nobody: [{ recipient: undefined, message: { text: "Hi" } }, "400 100", "400 100"],
  "an empty recipient": [{ recipient: {}, message: { text: "Hi" } }, "400 100", "400 100"],
  "a recipient by name": [{ recipient: { id: "Ana" }, message: { text: "Hi" } }, "400 100", "400 100"],
};

t.test("a message is taken, or refused,", async (t) => {
  const { base } = await startSandbox(t);
  for (const [what, [message, messenger, instagram]] of Object.entries(OUTCOMES)) {
    t.equal(refusal(await send(base, PAGE, message)), messenger, `Messenger: ${what}`);
    t.equal(refusal(await send(base, INSTAGRAM, message)), instagram, `photo platform: ${what}`);
  }
});

/** By how the recipient's id ends. */
const FATES: Record<string, [messenger: string, instagram: string]> = {
  "0010": ["400 10 2018278", "400 10 2534022"],
  "0551": ["400 551 1545041", "400 551 1545041"],
  "0001": ["400 100 2018001", "400 100 2018001"],
  "0108": ["400 10 2018108", "400 10 2018108"],
};

t.test("some recipients are always refused", async (t) => {
  const { base } = await startSandbox(t);
  for (const [ending, [messenger, instagram]] of Object.entries(FATES))
    for (let time = 0; time < 2; time += 1) {
      const message = { recipient: { id: `24${ending}` }, message: { text: "Hi" } };
      t.equal(refusal(await send(base, PAGE, message)), messenger, `Messenger: ${ending}`);
      t.equal(refusal(await send(base, INSTAGRAM, message)), instagram, `photo platform: ${ending}`);
    }
});

t.test("a recipient that ends in 0429 is throttled at first", async (t) => {
  const { base } = await startSandbox(t);
  const message = { recipient: { id: "240429" }, message: { text: "Hi" } };
  t.equal(refusal(await send(base, PAGE, message)), "400 80006");
  t.equal(refusal(await send(base, INSTAGRAM, message)), "400 80002");
  for (const account of [PAGE, INSTAGRAM]) t.equal((await send(base, account, message)).status, 200);
});

t.test("only a page's own token sends", async (t) => {
  const { base } = await startSandbox(t);
  const message = { recipient, message: { text: "Hi" } };
  const person = issueToken({ kind: "user", assets: [PAGE, INSTAGRAM], scopes: PAGE_SCOPES });
  for (const account of [PAGE, INSTAGRAM, "me"])
    t.equal(refusal(await post(`${base}/${account}/messages`, message, person)), "403 210", account);
  t.equal(refusal(await post(`${base}/me/messages`, message, pageToken([]))), "400 100", "of no page");
});
