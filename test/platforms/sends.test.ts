import t from "tap";
import type { ChatNumber } from "../../src/platforms/chat/numbers.ts";
import type { SendOutcome } from "../../src/platforms/sends.ts";
import { failedAs } from "../fixtures/platforms/failures.ts";
import { DEMO_CHAT_NUMBER, sendNow, startPlatforms } from "../fixtures/platforms/platforms.ts";
import { issueChatToken, OTHER_WABA_ID, PIN_NUMBER_ID, PLAIN_NUMBER_ID } from "../fixtures/sandbox/assets.ts";
import { callSandbox, startWebhookReceiver } from "../fixtures/sandbox/sandbox.ts";
import { until } from "../fixtures/until.ts";

const MESSAGE = { id: "msg_1", to: "5511999990001", type: "text", content: { body: "Hi" } };

type Row = [code: number, outcome: "retry" | "refused" | "token dead" | "retry, pair"];

/** Expected send outcome by error code, regardless of the status. */
const CODES: Row[] = [
  [0, "token dead"],
  [190, "token dead"],
  [3, "refused"],
  [10, "refused"],
  [200, "refused"],
  [299, "refused"],
  [131005, "refused"],
  [368, "refused"],
  [130497, "refused"],
  [131031, "refused"],
  [1, "retry"],
  [2, "retry"],
  [4, "retry"],
  [80007, "retry"],
  [80008, "retry"],
  [130429, "retry"],
  [131056, "retry, pair"],
  [131048, "refused"],
  [131064, "refused"],
  [133016, "refused"],
  [33, "refused"],
  [100, "refused"],
  [131008, "refused"],
  [131009, "refused"],
  [130472, "refused"],
  [131000, "retry"],
  [131016, "retry"],
  [131057, "retry"],
  [133004, "retry"],
  [131021, "refused"],
  [131026, "refused"],
  [131030, "refused"],
  [131037, "refused"],
  [131042, "refused"],
  [131045, "refused"],
  [131047, "refused"],
  [131049, "refused"],
  [131050, "refused"],
  [131051, "refused"],
  [131052, "refused"],
  [131053, "refused"],
  [131062, "refused"],
  [131063, "refused"],
  [132000, "refused"],
  [132001, "refused"],
  [132005, "refused"],
  [132007, "refused"],
  [132008, "refused"],
  [132012, "refused"],
  [132015, "refused"],
  [132016, "refused"],
  [132068, "refused"],
  [132069, "refused"],
  [133000, "refused"],
  [133005, "refused"],
  [133006, "refused"],
  [133008, "refused"],
  [133009, "refused"],
  [133010, "refused"],
  [133015, "refused"],
  [134011, "refused"],
  [135000, "refused"],
  [137000, "refused"],
  [999999, "refused"],
];

const labelOf = (outcome: SendOutcome): string => {
  if (outcome.outcome === "refused") return outcome.tokenDead ? "token dead" : "refused";
  return outcome.outcome === "retry" && outcome.pair ? "retry, pair" : outcome.outcome;
};

t.test("the error code decides the outcome of a send", async (t) => {
  const context = await startPlatforms(t);
  for (const [code, expected] of CODES) {
    await context.arm({ kind: "error", code });
    const outcome = await sendNow(context.platforms.chat.messages.prepare(DEMO_CHAT_NUMBER, MESSAGE));
    t.equal(labelOf(outcome), expected, `${code} is ${expected}`);
    t.equal("error" in outcome && outcome.error?.code, code);
    t.equal(context.lines.at(-1)?.tries, 1, "a send makes one attempt");
  }
});

t.test("an accepted message returns the platform's id", async (t) => {
  const { platforms } = await startPlatforms(t);
  t.match(await sendNow(platforms.chat.messages.prepare(DEMO_CHAT_NUMBER, MESSAGE)), {
    outcome: "accepted",
    platformMessageId: /^wamid\./,
  });
});

t.test("a phone number and a business-scoped id are sent in separate fields", async (t) => {
  const context = await startPlatforms(t);
  for (const to of ["5511999990001", "US.13491208655302741918", "BR.ENT.118157992128868"])
    t.match(
      await sendNow(context.platforms.chat.messages.prepare(DEMO_CHAT_NUMBER, { ...MESSAGE, to })),
      { outcome: "accepted" },
      to,
    );
  t.same(
    (await context.receivedCalls()).map(({ body }) => [body.to, body.recipient]),
    [
      ["5511999990001", undefined],
      [undefined, "US.13491208655302741918"],
      [undefined, "BR.ENT.118157992128868"],
    ],
  );
});

t.test("a message is sent in the platform's format with Herald's id", async (t) => {
  const context = await startPlatforms(t);
  await sendNow(
    context.platforms.chat.messages.prepare(DEMO_CHAT_NUMBER, {
      ...MESSAGE,
      context: { message_id: "wamid.before" },
    }),
  );
  const [call] = await context.receivedCalls();
  t.equal(call?.path, `/v26.0/${DEMO_CHAT_NUMBER.phoneNumberId}/messages`);
  t.same(call?.body, {
    messaging_product: "whatsapp",
    recipient_type: "individual",
    to: MESSAGE.to,
    type: "text",
    text: { body: "Hi" },
    context: { message_id: "wamid.before" },
    biz_opaque_callback_data: "msg_1",
  });
  t.notMatch(JSON.stringify(context.lines), /"Hi"|5511999990001/, "neither text nor number is logged");
});

t.test("a send whose response is lost or unreadable is unknown", async (t) => {
  for (const kind of ["drop_before", "drop_after", "html"]) {
    const context = await startPlatforms(t);
    const send = () => sendNow(context.platforms.chat.messages.prepare(DEMO_CHAT_NUMBER, MESSAGE));
    await send(); // opens the connection that the next send reuses
    await context.arm({ kind, times: 3 });
    t.same(
      await send(),
      kind === "html"
        ? { outcome: "unknown", reason: "unreadable", statusCode: 502 }
        : { outcome: "unknown", reason: "broken" },
      kind,
    );
    t.equal((await context.receivedCalls()).length, 2, "one attempt was made");
  }
});

t.test("a throttled send whose answer reports a wait pauses the whole business", async (t) => {
  const context = await startPlatforms(t);
  const { messages, numbers } = context.platforms.chat;
  const [number, sibling] = [PLAIN_NUMBER_ID, PIN_NUMBER_ID].map((phoneNumberId) => ({
    wabaId: OTHER_WABA_ID,
    phoneNumberId,
    token: issueChatToken([OTHER_WABA_ID]),
  })) as [ChatNumber, ChatNumber];
  await context.arm({ kind: "throttle", code: 80007, ms: 120_000 });
  t.match(await sendNow(messages.prepare(number, MESSAGE)), {
    outcome: "retry",
    error: { code: 80007 },
    wait: 120_000,
  });
  const paused = await sendNow(messages.prepare(sibling, MESSAGE));
  t.match(paused, { outcome: "retry", error: undefined });
  t.ok(paused.outcome === "retry" && (paused.wait ?? 0) > 60_000);
  await t.rejects(numbers.read(number), failedAs("paused"), "management calls too");
  t.equal((await context.receivedCalls()).length, 1, "the paused calls do not reach the platform");
  t.match(
    await sendNow(messages.prepare(DEMO_CHAT_NUMBER, MESSAGE)),
    { outcome: "accepted" },
    "another business",
  );
});

t.test("a throttled send without a wait, or at the app's limit, pauses no other send", async (t) => {
  const context = await startPlatforms(t);
  const send = () => sendNow(context.platforms.chat.messages.prepare(DEMO_CHAT_NUMBER, MESSAGE));
  for (const code of [4, 341, 80007, 80008]) {
    await context.arm({ kind: "error", code });
    const refused = await send();
    t.match(refused, { outcome: "retry", error: { code } });
    t.notOk("wait" in refused, "the backoff of sends decides");
    t.match(await send(), { outcome: "accepted" }, `after ${code}`);
  }
});

t.test("the sandbox's magic recipients cause their failures", async (t) => {
  const { platforms } = await startPlatforms(t);
  const send = (to: string) => sendNow(platforms.chat.messages.prepare(DEMO_CHAT_NUMBER, { ...MESSAGE, to }));
  t.match(await send("5511999990000"), { outcome: "accepted" }, "the failure arrives later by webhook");
  t.match(await send("5511999990429"), { outcome: "retry", error: { code: 130429 } });
  t.match(await send("5511999990429"), { outcome: "accepted" });
});

t.test("a received message can be marked as read, with or without a typing indicator", async (t) => {
  const receiver = await startWebhookReceiver(t);
  const context = await startPlatforms(t, { settings: { PUBLIC_URL: receiver.url } });
  const inbound = { channel: DEMO_CHAT_NUMBER.phoneNumberId, from: "16505551234", type: "text" };
  await callSandbox(`${context.origin}/_sandbox/inbound`, {
    json: { ...inbound, content: { body: "Hello" } },
  });
  const webhook = await until("the inbound webhook arrives", () => receiver.received[0]);
  const id = webhook.body.entry[0].changes[0].value.messages[0].id;
  const { markRead } = context.platforms.chat.messages;
  const read = { messaging_product: "whatsapp", status: "read", message_id: id };
  await markRead(DEMO_CHAT_NUMBER, id);
  t.same((await context.receivedCalls()).at(-1)?.body, read);
  await markRead(DEMO_CHAT_NUMBER, id, { typing: true });
  t.same((await context.receivedCalls()).at(-1)?.body, { ...read, typing_indicator: { type: "text" } });
  await t.rejects(markRead(DEMO_CHAT_NUMBER, "wamid.unknown"), failedAs("invalid"));
});
