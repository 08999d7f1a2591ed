import t from "tap";
import { createLog } from "../../src/runtime/log.ts";
import { dialogDoors } from "../../src/sandbox/dialogs/doors.ts";
import { createFaults } from "../../src/sandbox/faults/faults.ts";
import { createCodes } from "../../src/sandbox/login/codes.ts";
import { createWebhooks } from "../../src/sandbox/webhooks.ts";
import { readParams } from "../../src/sandbox/wire/read-params.ts";
import { SANDBOX_SETTINGS as settings } from "../fixtures/sandbox.ts";
import { CHAT_SIGNUP, OAUTH_REQUEST, PAGE_SIGNUP } from "../fixtures/sandbox-dialogs.ts";

/** Which of the dialog's two assets the app still hears of, when the person has chosen the first of them. */
async function heardAfter(path: string, request: Record<string, string>, assets: readonly [string, string]) {
  const log = createLog({ LOG_LEVEL: "silent", LOG_FORMAT: "json", process: "sandbox" });
  const webhooks = createWebhooks({ settings, faults: createFaults(), log, later: () => {} });
  const doors = dialogDoors({ settings, webhooks, codes: createCodes({ now: Date.now }) });
  const body = Buffer.from(`${new URLSearchParams({ ...request, asset: assets[0], action: "grant" })}`);
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const params = await readParams(new URLSearchParams(), headers["content-type"], body);
  const door = doors.find((one) => one.method === "POST" && one.path === path);
  const reply = await door?.answer({
    method: "POST",
    url: new URL(path, settings.PUBLIC_URL),
    headers,
    body,
    params,
  });
  return { status: reply?.status, heard: assets.map((asset) => webhooks.isSubscribed(asset)) };
}

t.test("what a signup grants is silent until the app subscribes to it", async (t) => {
  const chats = ["1500000000000201", "1500000000000202"] as const;
  const pages = ["1300000000000401", "1300000000000402"] as const;
  t.same(await heardAfter("/dialog/signup", CHAT_SIGNUP, chats), { status: 302, heard: [false, true] });
  t.same(await heardAfter("/dialog/signup", PAGE_SIGNUP, pages), { status: 302, heard: [false, true] });
});

t.test("logging in again leaves subscriptions as they are", async (t) => {
  const accounts = ["1600000000000101", "1600000000000102"] as const;
  t.same(await heardAfter("/dialog/oauth", OAUTH_REQUEST, accounts), { status: 302, heard: [true, true] });
});
