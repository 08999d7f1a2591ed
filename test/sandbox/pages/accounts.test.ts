import t from "tap";
import { PAGES } from "../../../src/sandbox/built-in-assets.ts";
import {
  DEMO_PAGE,
  INSTAGRAM,
  issueToken,
  messagingOf,
  PAGE,
  pageToken,
  post,
  refusal,
  startWithReceiver,
} from "../../fixtures/sandbox/assets.ts";
import { type PlainAnswer, speak, startSandbox } from "../../fixtures/sandbox/sandbox.ts";
import { until } from "../../fixtures/until.ts";

const token = DEMO_PAGE;
const SUSHI = PAGES[2]?.id as string;
const stranger = pageToken([SUSHI]);

t.test("a page is read with the fields that are asked for", async (t) => {
  const { base } = await startSandbox(t);
  const query = { fields: "id,name,instagram_business_account{id,username}" };
  const answer = await speak(`${base}/${PAGE}`, { token, query });
  t.same(answer.body, {
    id: PAGE,
    name: "Sandbox Coffee",
    instagram_business_account: { id: INSTAGRAM, username: "sandbox.coffee" },
  });
  t.match(JSON.parse(answer.headers.get("x-business-use-case-usage") ?? ""), { [PAGE]: [{ type: "pages" }] });
  t.same((await speak(`${base}/${PAGE}`, { token })).body, { id: PAGE, name: "Sandbox Coffee" });
  t.same((await speak(`${base}/${SUSHI}`, { token: stranger, query })).body, {
    id: SUSHI,
    name: "Sandbox Sushi",
  });
  t.equal(refusal(await speak(`${base}/${PAGE}`, { token, query: { fields: "colour" } })), "400 100");
});

t.test("a photo account is read, with the token of its page too", async (t) => {
  const { base } = await startSandbox(t);
  const query = { fields: "id,username" };
  for (const able of [token, pageToken([INSTAGRAM])])
    t.same((await speak(`${base}/${INSTAGRAM}`, { token: able, query })).body, {
      id: INSTAGRAM,
      username: "sandbox.coffee",
    });
  t.equal(refusal(await speak(`${base}/${INSTAGRAM}`, { token, query: { fields: "colour" } })), "400 100");
});

t.test("a page and its photo account are hidden from who was not granted them", async (t) => {
  const { base } = await startSandbox(t);
  for (const path of [PAGE, INSTAGRAM, `${PAGE}/subscribed_apps`])
    t.equal(refusal(await speak(`${base}/${path}`, { token: stranger })), "400 100 33", path);
  t.equal(refusal(await post(`${base}/${PAGE}/messages`, {}, stranger)), "400 100 33");
  const poor = pageToken([PAGE], []);
  for (const path of [PAGE, INSTAGRAM, `${PAGE}/subscribed_apps`])
    t.equal(refusal(await speak(`${base}/${path}`, { token: poor })), "403 10", path);
  t.equal(refusal(await post(`${base}/${PAGE}/messages`, {}, poor)), "403 10");
  t.equal(refusal(await post(`${base}/${INSTAGRAM}/messages`, {}, poor)), "403 10");
});

t.test("the app subscribes to fields of a page, in the query or in a form", async (t) => {
  const { base } = await startSandbox(t);
  const address = `${base}/${PAGE}/subscribed_apps`;
  const subscribed_fields =
    "messages,messaging_postbacks,message_deliveries,message_reads,message_echoes,message_reactions,feed,leadgen";
  t.same((await speak(address, { method: "POST", token, query: { subscribed_fields } })).body, {
    success: true,
  });
  const form = { subscribed_fields: "messages,feed" };
  t.same((await speak(address, { token, form })).body, { success: true });
  t.match((await speak(address, { token })).body, {
    data: [{ id: "1900000000000001", name: String, subscribed_fields: ["messages", "feed"] }],
  });
  t.equal(refusal(await speak(address, { method: "POST", token })), "400 100");
  t.equal(
    refusal(await speak(address, { token, form: { subscribed_fields: "messages,gossip" } })),
    "400 100",
  );
  const person = issueToken({ kind: "user", assets: [PAGE], scopes: ["pages_manage_metadata"] });
  t.equal(refusal(await speak(address, { token: person, form })), "403 210", "not with a person's token");
  t.same((await speak(address, { method: "DELETE", token })).body, { success: true });
  t.same((await speak(address, { token })).body, { data: [] });
});

t.test("a photo account has fields of its own", async (t) => {
  const { base } = await startSandbox(t);
  const address = `${base}/${INSTAGRAM}/subscribed_apps`;
  t.same((await speak(address, { token, form: { subscribed_fields: "messages,messaging_seen" } })).body, {
    success: true,
  });
  t.equal(refusal(await speak(address, { token, form: { subscribed_fields: "leadgen" } })), "400 100");
});

const hello = (id: string) => ({ recipient: { id }, message: { text: "Hi" } });

t.test("what the app has not subscribed to is not told", async (t) => {
  const { base, received } = await startWithReceiver(t);
  const form = { subscribed_fields: "messages,message_reads" };
  await speak(`${base}/${PAGE}/subscribed_apps`, { token, form });
  await post(`${base}/${PAGE}/messages`, hello("24"), token);
  await until("the reading", () => messagingOf(received, "page").length > 0);
  t.match(messagingOf(received, "page"), [{ read: { watermark: Number } }]);
});

t.test("a page that nobody hears of is silent, and so is its photo account", async (t) => {
  const { base, received } = await startWithReceiver(t);
  const other = pageToken([SUSHI]);
  await speak(`${base}/${PAGE}/subscribed_apps`, { method: "DELETE", token });
  await post(`${base}/${PAGE}/messages`, hello("24"), token);
  await post(`${base}/${INSTAGRAM}/messages`, hello("24"), token);
  await post(`${base}/${SUSHI}/messages`, hello("24"), other);
  await until("everything of the other page", () => messagingOf(received, "page").length === 3);
  t.same(
    received.map(({ body }) => body.entry[0].id),
    [SUSHI, SUSHI, SUSHI],
  );
});

const usageOf = ({ headers }: PlainAnswer) => JSON.parse(headers.get("x-business-use-case-usage") ?? "{}");

t.test("reading a lead counts for its page", async (t) => {
  const { base } = await startSandbox(t);
  const lead = await speak(`${base}/120200000000000701`, { token: DEMO_PAGE });
  t.match(usageOf(lead), { [PAGE]: [{ type: "pages" }] });
});

t.test("a photo account that sends through its page counts for itself, refused or not", async (t) => {
  const { base } = await startSandbox(t);
  const send = (id: string) =>
    post(`${base}/${PAGE}/messages`, { recipient: { id }, message: { text: "Hi" } }, DEMO_PAGE);
  const refused = await send("1784000000000429");
  t.equal(refused.body.error.code, 80002);
  t.strictSame(Object.keys(usageOf(refused)), [INSTAGRAM]);
  t.match(usageOf(refused), { [INSTAGRAM]: [{ type: "instagram" }] });
  t.match(usageOf(await send("1784000000000429")), { [INSTAGRAM]: [{ type: "instagram" }] });
  t.match(usageOf(await send("2400000000000024")), { [PAGE]: [{ type: "messenger" }] });
});
