import t from "tap";
import { failedAs } from "../fixtures/platforms/failures.ts";
import { sendNow, startPlatforms } from "../fixtures/platforms/platforms.ts";
import {
  OAUTH_REDIRECT,
  requestChatCode,
  requestOauthCode,
  requestPageManagerToken,
  requestUserToken,
  SIGNUP_REDIRECT,
} from "../fixtures/sandbox/dialogs.ts";

const DAY = 24 * 60 * 60 * 1000;

t.test("a code is exchanged for a short-lived token, and that for a long-lived one", async (t) => {
  const context = await startPlatforms(t);
  const { tokens, accounts } = context.platforms.ads;
  const code = await requestOauthCode(context, { assets: ["1600000000000101", "1600000000000103"] });
  const short = await tokens.exchangeCode(code, OAUTH_REDIRECT);
  t.ok(short.expiresAt && short.expiresAt.getTime() < Date.now() + DAY);
  const long = await tokens.prolong(short.token);
  t.ok(long.expiresAt && long.expiresAt.getTime() > Date.now() + 50 * DAY);
  t.same(
    (await accounts.listAll(long.token)).map(({ name }) => name),
    ["Sandbox Coffee", "Sandbox Tea"],
  );
  const secrets = [code, short.token, long.token, "sandbox-app-secret"];
  for (const secret of secrets) t.notMatch(JSON.stringify(context.lines), secret, "no secret is logged");
});

t.test("a code is valid once, for 30 seconds and with its redirect URI", async (t) => {
  let now = Date.now();
  const context = await startPlatforms(t, { now: () => now });
  const { tokens } = context.platforms.ads;
  const refusedAs = (subcode: number) => failedAs("invalid", { platformError: { code: 100, subcode } });
  const used = await requestOauthCode(context);
  await tokens.exchangeCode(used, OAUTH_REDIRECT);
  await t.rejects(tokens.exchangeCode(used, OAUTH_REDIRECT), refusedAs(36009));
  await t.rejects(
    tokens.exchangeCode(await requestOauthCode(context), `${OAUTH_REDIRECT}/`),
    refusedAs(36008),
  );
  const late = await requestOauthCode(context);
  now += 31_000;
  await t.rejects(tokens.exchangeCode(late, OAUTH_REDIRECT), refusedAs(36007));
});

t.test("a code exchange is not retried when the response is lost", async (t) => {
  const context = await startPlatforms(t);
  const code = await requestOauthCode(context);
  await context.arm({ kind: "drop_after" });
  await t.rejects(context.platforms.ads.tokens.exchangeCode(code, OAUTH_REDIRECT), failedAs("disconnected"));
  t.equal((await context.receivedCalls()).filter(({ path }) => path.endsWith("/access_token")).length, 1);
});

t.test("declined permissions are listed as declined", async (t) => {
  const context = await startPlatforms(t);
  const token = await requestUserToken(context, { permissions: ["ads_read"] });
  const permissions = await context.platforms.ads.tokens.permissions(token);
  t.equal(permissions.get("ads_read"), "granted");
  t.equal(permissions.get("ads_management"), "declined");
  t.equal(permissions.get("pages_messaging"), undefined, "never requested");
});

t.test("inspecting a token shows whether it is valid, dead or without expiry", async (t) => {
  const context = await startPlatforms(t);
  const { tokens } = context.platforms.ads;
  const token = await requestUserToken(context, { assets: ["1600000000000101"] });
  const alive = await tokens.inspect(token);
  t.match(alive, {
    valid: true,
    userId: /^\d+$/,
    scopes: ["ads_management", "ads_read", "business_management"],
  });
  t.ok(alive.expiresAt && alive.expiresAt.getTime() > Date.now());
  t.match(await tokens.inspect("EAASandboxDemoAds"), { valid: true, expiresAt: null });
  await context.arm({ kind: "dead_token", subcode: 460 });
  await t.rejects(tokens.permissions(token));
  t.match(await tokens.inspect(token), { valid: false, reason: String });
  t.match(await tokens.inspect("never issued"), { valid: false });
});

t.test("a signup's token lists its granted business and its expiry", async (t) => {
  const context = await startPlatforms(t);
  const { tokens, numbers } = context.platforms.chat;
  const code = await requestChatCode(context, ["1500000000000202"]);
  const { token, expiresAt } = await tokens.exchangeCode(code, SIGNUP_REDIRECT);
  t.equal(expiresAt, undefined, "the exchange does not return the expiry");
  const inspection = await tokens.inspect(token);
  t.ok(inspection.expiresAt);
  const management = inspection.granted.find(({ scope }) => scope === "whatsapp_business_management");
  t.same(management?.targets, ["1500000000000202"]);
  const business = { wabaId: "1500000000000202", token };
  t.equal((await numbers.listAll(business)).length, 3);
  const others = { wabaId: "1500000000000201", token };
  await t.rejects(numbers.listAll(others), failedAs("missing"));
});

t.test("each of a person's pages has its own token", async (t) => {
  const context = await startPlatforms(t);
  const { pages, messages } = context.platforms.social;
  const token = await requestPageManagerToken(context, { assets: ["1300000000000402", "1300000000000403"] });
  const [tea, sushi, ...more] = await pages.listAll(token);
  t.same(more, []);
  t.match(tea, {
    page_id: "1300000000000402",
    name: "Sandbox Tea",
    token: String,
    photoapp_user_id: "1200000000000502",
    username: "sandbox.tea",
  });
  t.notOk(sushi && "photoapp_user_id" in sushi);
  const page = { pageId: "1300000000000402", token: tea?.token ?? "" };
  await pages.subscribe(page);
  const body = { recipient: { id: "7001" }, messaging_type: "RESPONSE", message: { text: "Hi" } };
  t.match(await sendNow(messages.prepare(page, body)), { outcome: "accepted" });
});
