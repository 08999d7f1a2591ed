import t from "tap";
import { PAGES } from "../../../src/sandbox/built-in-assets.ts";
import {
  DEMO_PAGE_TOKEN,
  formatRefusal,
  INSTAGRAM_ID,
  issuePageToken,
  issueToken,
  messagingOf,
  PAGE_ID,
  postJson,
  startSandboxWithReceiver,
} from "../../fixtures/sandbox/assets.ts";
import { callSandbox, type SandboxAnswer, startSandbox } from "../../fixtures/sandbox/sandbox.ts";
import { until } from "../../fixtures/until.ts";

const token = DEMO_PAGE_TOKEN;
const SUSHI = PAGES[2]?.id as string;
const otherToken = issuePageToken([SUSHI]);

t.test("a page shows the requested fields", async (t) => {
  const { base } = await startSandbox(t);
  const query = { fields: "id,name,instagram_business_account{id,username}" };
  const answer = await callSandbox(`${base}/${PAGE_ID}`, { token, query });
  t.same(answer.body, {
    id: PAGE_ID,
    name: "Sandbox Coffee",
    instagram_business_account: { id: INSTAGRAM_ID, username: "sandbox.coffee" },
  });
  t.match(JSON.parse(answer.headers.get("x-business-use-case-usage") ?? ""), {
    [PAGE_ID]: [{ type: "pages" }],
  });
  t.same((await callSandbox(`${base}/${PAGE_ID}`, { token })).body, { id: PAGE_ID, name: "Sandbox Coffee" });
  t.same((await callSandbox(`${base}/${SUSHI}`, { token: otherToken, query })).body, {
    id: SUSHI,
    name: "Sandbox Sushi",
  });
  t.equal(
    formatRefusal(await callSandbox(`${base}/${PAGE_ID}`, { token, query: { fields: "colour" } })),
    "400 100",
  );
});

t.test("a photo account is readable with its page's token", async (t) => {
  const { base } = await startSandbox(t);
  const query = { fields: "id,username" };
  for (const validToken of [token, issuePageToken([INSTAGRAM_ID])])
    t.same((await callSandbox(`${base}/${INSTAGRAM_ID}`, { token: validToken, query })).body, {
      id: INSTAGRAM_ID,
      username: "sandbox.coffee",
    });
  t.equal(
    formatRefusal(await callSandbox(`${base}/${INSTAGRAM_ID}`, { token, query: { fields: "colour" } })),
    "400 100",
  );
});

t.test("a page and its photo account are hidden from a token without the grant", async (t) => {
  const { base } = await startSandbox(t);
  for (const path of [PAGE_ID, INSTAGRAM_ID, `${PAGE_ID}/subscribed_apps`])
    t.equal(formatRefusal(await callSandbox(`${base}/${path}`, { token: otherToken })), "400 100 33", path);
  t.equal(formatRefusal(await postJson(`${base}/${PAGE_ID}/messages`, {}, otherToken)), "400 100 33");
  const tokenWithoutScopes = issuePageToken([PAGE_ID], []);
  for (const path of [PAGE_ID, INSTAGRAM_ID, `${PAGE_ID}/subscribed_apps`])
    t.equal(
      formatRefusal(await callSandbox(`${base}/${path}`, { token: tokenWithoutScopes })),
      "403 10",
      path,
    );
  t.equal(formatRefusal(await postJson(`${base}/${PAGE_ID}/messages`, {}, tokenWithoutScopes)), "403 10");
  t.equal(
    formatRefusal(await postJson(`${base}/${INSTAGRAM_ID}/messages`, {}, tokenWithoutScopes)),
    "403 10",
  );
});

t.test("the app subscribes to fields of a page by query or form", async (t) => {
  const { base } = await startSandbox(t);
  const address = `${base}/${PAGE_ID}/subscribed_apps`;
  const subscribed_fields =
    "messages,messaging_postbacks,message_deliveries,message_reads,message_echoes,message_reactions,feed,leadgen";
  t.same((await callSandbox(address, { method: "POST", token, query: { subscribed_fields } })).body, {
    success: true,
  });
  const form = { subscribed_fields: "messages,feed" };
  t.same((await callSandbox(address, { token, form })).body, { success: true });
  t.match((await callSandbox(address, { token })).body, {
    data: [{ id: "1900000000000001", name: String, subscribed_fields: ["messages", "feed"] }],
  });
  t.equal(formatRefusal(await callSandbox(address, { method: "POST", token })), "400 100");
  t.equal(
    formatRefusal(await callSandbox(address, { token, form: { subscribed_fields: "messages,gossip" } })),
    "400 100",
  );
  const person = issueToken({ kind: "user", assets: [PAGE_ID], scopes: ["pages_manage_metadata"] });
  t.equal(
    formatRefusal(await callSandbox(address, { token: person, form })),
    "403 210",
    "a user token is refused",
  );
  t.same((await callSandbox(address, { method: "DELETE", token })).body, { success: true });
  t.same((await callSandbox(address, { token })).body, { data: [] });
});

t.test("a photo account has its own subscription fields", async (t) => {
  const { base } = await startSandbox(t);
  const address = `${base}/${INSTAGRAM_ID}/subscribed_apps`;
  t.same(
    (await callSandbox(address, { token, form: { subscribed_fields: "messages,messaging_seen" } })).body,
    {
      success: true,
    },
  );
  t.equal(
    formatRefusal(await callSandbox(address, { token, form: { subscribed_fields: "leadgen" } })),
    "400 100",
  );
});

const hello = (id: string) => ({ recipient: { id }, message: { text: "Hi" } });

t.test("a field without a subscription sends no webhooks", async (t) => {
  const { base, received } = await startSandboxWithReceiver(t);
  const form = { subscribed_fields: "messages,message_reads" };
  await callSandbox(`${base}/${PAGE_ID}/subscribed_apps`, { token, form });
  await postJson(`${base}/${PAGE_ID}/messages`, hello("24"), token);
  await until("the read receipt arrived", () => messagingOf(received, "page").length > 0);
  t.match(messagingOf(received, "page"), [{ read: { watermark: Number } }]);
});

t.test("a page without a subscription sends no webhooks, and neither does its photo account", async (t) => {
  const { base, received } = await startSandboxWithReceiver(t);
  const other = issuePageToken([SUSHI]);
  await callSandbox(`${base}/${PAGE_ID}/subscribed_apps`, { method: "DELETE", token });
  await postJson(`${base}/${PAGE_ID}/messages`, hello("24"), token);
  await postJson(`${base}/${INSTAGRAM_ID}/messages`, hello("24"), token);
  await postJson(`${base}/${SUSHI}/messages`, hello("24"), other);
  await until("all webhooks of the other page arrived", () => messagingOf(received, "page").length === 3);
  t.same(
    received.map(({ body }) => body.entry[0].id),
    [SUSHI, SUSHI, SUSHI],
  );
});

const usageOf = ({ headers }: SandboxAnswer) => JSON.parse(headers.get("x-business-use-case-usage") ?? "{}");

t.test("reading a lead counts against its page's quota", async (t) => {
  const { base } = await startSandbox(t);
  const lead = await callSandbox(`${base}/120200000000000701`, { token: DEMO_PAGE_TOKEN });
  t.match(usageOf(lead), { [PAGE_ID]: [{ type: "pages" }] });
});

t.test(
  "a message sent through a page's photo account counts against the photo account's quota, refused or not",
  async (t) => {
    const { base } = await startSandbox(t);
    const send = (id: string) =>
      postJson(
        `${base}/${PAGE_ID}/messages`,
        { recipient: { id }, message: { text: "Hi" } },
        DEMO_PAGE_TOKEN,
      );
    const refused = await send("1784000000000429");
    t.equal(refused.body.error.code, 80002);
    t.strictSame(Object.keys(usageOf(refused)), [INSTAGRAM_ID]);
    t.match(usageOf(refused), { [INSTAGRAM_ID]: [{ type: "instagram" }] });
    t.match(usageOf(await send("1784000000000429")), { [INSTAGRAM_ID]: [{ type: "instagram" }] });
    t.match(usageOf(await send("2400000000000024")), { [PAGE_ID]: [{ type: "messenger" }] });
  },
);
