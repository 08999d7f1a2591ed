import t from "tap";
import { dialogRoutes } from "../../../src/sandbox/dialogs/dialog-routes.ts";
import { readParams } from "../../../src/sandbox/graph/params.ts";
import { createCodes } from "../../../src/sandbox/graph/tokens.ts";
import { CHAT_SIGNUP_REQUEST, OAUTH_REQUEST, PAGE_SIGNUP_REQUEST } from "../../fixtures/sandbox/dialogs.ts";
import { SANDBOX_SETTINGS as settings } from "../../fixtures/sandbox/sandbox.ts";

/** Submits the dialog with the chosen assets and returns those whose webhooks are suppressed. */
async function submitDialog(path: string, request: Record<string, string>, assets: readonly string[]) {
  const silent: string[] = [];
  const webhooks = { awaitSubscription: (asset: string) => void silent.push(asset) };
  const routes = dialogRoutes({ settings, webhooks, codes: createCodes({ now: Date.now }) });
  const form = new URLSearchParams({ ...request, action: "grant" });
  for (const asset of assets) form.append("asset", asset);
  const body = Buffer.from(`${form}`);
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const params = await readParams(new URLSearchParams(), headers["content-type"], body);
  const route = routes.find((one) => one.method === "POST" && one.path === path);
  const reply = await route?.answer({
    method: "POST",
    url: new URL(path, settings.PUBLIC_URL),
    headers,
    body,
    params,
  });
  return { status: reply?.status, silent };
}

t.test("an asset granted by a signup sends no webhooks until the app subscribes to it", async (t) => {
  const chats = ["1500000000000201", "1500000000000202"];
  t.same(await submitDialog("/dialog/signup", CHAT_SIGNUP_REQUEST, chats), { status: 302, silent: chats });
  const [page, photos] = ["1300000000000402", "1200000000000502"];
  t.same(await submitDialog("/dialog/signup", PAGE_SIGNUP_REQUEST, [page]), {
    status: 302,
    silent: [page, photos],
  });
});

t.test("a repeated login keeps subscriptions", async (t) => {
  const account = ["1600000000000101"];
  t.same(await submitDialog("/dialog/oauth", OAUTH_REQUEST, account), { status: 302, silent: [] });
});
