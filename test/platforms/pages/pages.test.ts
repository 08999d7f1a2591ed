import t from "tap";
import { isTranslatable, toPageBodies } from "../../../src/platforms/pages/messages.ts";
import { failedAs } from "../../fixtures/platforms/failures.ts";
import { DEMO_PAGE_ACCESS, sendNow, startPlatforms } from "../../fixtures/platforms/platforms.ts";

const TO = "7000000000000601";
const text = { to: TO, type: "text", content: { body: "Hi" } };

t.test("messages are translated to the page platforms' format", async (t) => {
  const head = { recipient: { id: TO }, messaging_type: "RESPONSE" };
  const image = { to: TO, type: "image", content: { link: "https://shop.example/a.png", caption: "A cup" } };
  const attachment = { type: "image", payload: { url: "https://shop.example/a.png" } };
  t.same(toPageBodies(text), [{ ...head, message: { text: "Hi" } }]);
  t.same(
    toPageBodies(image),
    [
      { ...head, message: { attachment } },
      { ...head, message: { text: "A cup" } },
    ],
    "a caption is sent as a text after the media",
  );
  t.same(toPageBodies({ ...text, context: { message_id: "m_0" } }), [
    { ...head, message: { text: "Hi" }, reply_to: { mid: "m_0" } },
  ]);
  t.same(toPageBodies({ ...text, messagingType: "MESSAGE_TAG", tag: "HUMAN_AGENT" }), [
    { recipient: { id: TO }, messaging_type: "MESSAGE_TAG", tag: "HUMAN_AGENT", message: { text: "Hi" } },
  ]);
  const document = { to: TO, type: "document", content: { link: "https://shop.example/a.pdf" } };
  t.match(toPageBodies(document), [{ message: { attachment: { type: "file" } } }]);
  const react = { to: TO, type: "reaction", content: { message_id: "m_1", emoji: "❤" } };
  t.same(toPageBodies(react), [
    { recipient: { id: TO }, sender_action: "react", payload: { message_id: "m_1", reaction: "❤" } },
  ]);
  const back = { to: TO, type: "reaction", content: { message_id: "m_1", emoji: "" } };
  t.same(toPageBodies(back), [
    { recipient: { id: TO }, sender_action: "unreact", payload: { message_id: "m_1" } },
  ]);
});

t.test("message types without an equivalent cannot be sent", async (t) => {
  const types = ["text", "image", "video", "audio", "document", "reaction"];
  const not = ["template", "sticker", "location", "contacts", "interactive", "constructor", ""];
  t.same(
    types.filter((type) => isTranslatable("socialapp", type)),
    types,
  );
  t.same(
    types.filter((type) => !isTranslatable("photoapp", type)),
    ["document"],
  );
  for (const platform of ["socialapp", "photoapp"] as const)
    t.same(
      not.filter((type) => isTranslatable(platform, type)),
      [],
    );
});

t.test("messages to both platforms are sent from the page", async (t) => {
  const context = await startPlatforms(t);
  const { social, photo } = context.platforms;
  for (const { messages } of [social, photo])
    for (const body of toPageBodies(text))
      t.match(await sendNow(messages.prepare(DEMO_PAGE_ACCESS, body)), {
        outcome: "accepted",
        platformMessageId: /^m_/,
      });
  const paths = (await context.receivedCalls()).map(({ path }) => path);
  t.same(paths, Array(2).fill(`/v26.0/${DEMO_PAGE_ACCESS.pageId}/messages`));
});

/** Expected send outcome by code and subcode. */
const CODES: [code: number, subcode: number | undefined, outcome: object][] = [
  [10, 2018278, { outcome: "refused", tokenDead: false }],
  [10, 2534022, { outcome: "refused", tokenDead: false }],
  [551, 1545041, { outcome: "refused", tokenDead: false }],
  [10, 2018108, { outcome: "refused", tokenDead: false }],
  [200, 2018108, { outcome: "refused", tokenDead: false }],
  [100, 2018001, { outcome: "refused", tokenDead: false }],
  [100, 2018047, { outcome: "refused", tokenDead: false }],
  [190, undefined, { outcome: "refused", tokenDead: true }],
  [1, undefined, { outcome: "retry" }],
  [2, undefined, { outcome: "retry" }],
  [1200, undefined, { outcome: "retry" }],
  [4, undefined, { outcome: "retry" }],
  [32, undefined, { outcome: "retry", wait: 60_000 }],
  [613, undefined, { outcome: "retry", wait: 60_000 }],
  [80002, undefined, { outcome: "retry", wait: 60_000 }],
  [80006, undefined, { outcome: "retry", wait: 60_000 }],
];

t.test("the error code decides the outcome of a page's send", async (t) => {
  let context = await startPlatforms(t);
  for (const [code, subcode, expected] of CODES) {
    await context.arm({ kind: "error", code, ...(subcode ? { subcode } : {}) });
    const [body = {}] = toPageBodies(text);
    const outcome = await sendNow(context.platforms.social.messages.prepare(DEMO_PAGE_ACCESS, body));
    t.match(outcome, { ...expected, error: { code } }, `${code}/${subcode}`);
    if ("wait" in expected) context = await startPlatforms(t); // the hold would block later sends
  }
});

t.test("a page is subscribed with all fields that Herald forwards", async (t) => {
  const context = await startPlatforms(t);
  await context.platforms.social.pages.subscribe(DEMO_PAGE_ACCESS);
  t.match((await context.receivedCalls()).at(-1), {
    path: `/v26.0/${DEMO_PAGE_ACCESS.pageId}/subscribed_apps`,
    body: { subscribed_fields: /^messages,.*leadgen$/ },
  });
});

t.test("a lead is read with its form data", async (t) => {
  const { platforms } = await startPlatforms(t);
  const lead = await platforms.social.pages.readLead(DEMO_PAGE_ACCESS, "120200000000000701");
  t.match(lead, {
    lead_id: "120200000000000701",
    form_id: "120200000000000702",
    ad_id: "120200000000000703",
  });
  t.same(lead.fields[0], { name: "full_name", values: ["Ana Souza"] });
  await t.rejects(
    platforms.social.pages.readLead(DEMO_PAGE_ACCESS, "120200000000000799"),
    failedAs("missing"),
  );
});
