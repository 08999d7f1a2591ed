import t from "tap";
import { PAGES } from "../../src/sandbox/built-in-assets.ts";
import { requestUserToken } from "../fixtures/sandbox/dialogs.ts";
import { callSandbox, startSandbox } from "../fixtures/sandbox/sandbox.ts";
import { startWebhookReceiver } from "../fixtures/sandbox/webhook-receiver.ts";

const sandbox = await startSandbox(t);
const { base } = sandbox;

t.test("a person shows the requested fields, by default id and name", async (t) => {
  const ask = (query: Record<string, string>) =>
    callSandbox(`${base}/me`, { token: "EAASandboxDemoAds", query });
  t.strictSame((await ask({})).body, { id: "1700000000000042", name: "Sam Sandbox" });
  t.strictSame((await ask({ fields: "id" })).body, { id: "1700000000000042" });
  t.strictSame((await ask({ fields: "name" })).body, { name: "Sam Sandbox", id: "1700000000000042" });
  const { status, body } = await ask({ fields: "id,shoe_size" });
  t.equal(status, 400);
  t.equal(body.error.code, 100);
  t.match(body.error.message, /nonexisting field \(shoe_size\) on node type \(User\)/);
});

t.test("a page token shows the page, not the person", async (t) => {
  const ask = (query: Record<string, string>) =>
    callSandbox(`${base}/me`, { token: "EAASandboxDemoPage", query });
  const [page] = PAGES;
  t.strictSame((await ask({})).body, { name: page?.name, id: page?.id });
  t.strictSame((await ask({ fields: "id" })).body, { id: page?.id });
  t.match((await ask({ fields: "shoe_size" })).body.error.message, /on node type \(Page\)/);
});

t.test("a token and its proof are required", async (t) => {
  const token = "EAASandboxDemoAds";
  for (const path of ["me", "me/permissions", "me/adaccounts", "me/accounts"]) {
    t.equal((await callSandbox(`${base}/${path}`)).body.error.code, 104, `${path} without a token`);
    t.equal(
      (await callSandbox(`${base}/${path}`, { token: "EAAno" })).body.error.code,
      190,
      `${path} with an unknown token`,
    );
    t.match(
      (await callSandbox(`${base}/${path}`, { token, proof: undefined })).body.error,
      { code: 100, message: /appsecret_proof/ },
      `${path} without proof`,
    );
  }
});

t.test("permissions are granted, declined or expired, and absent when never requested", async (t) => {
  const token = await requestUserToken(sandbox, {
    permissions: ["ads_management"],
    expired: ["business_management"],
  });
  const { status, body } = await callSandbox(`${sandbox.base}/me/permissions`, { token });
  t.equal(status, 200);
  t.strictSame(body, {
    data: [
      { permission: "ads_management", status: "granted" },
      { permission: "ads_read", status: "declined" },
      { permission: "business_management", status: "expired" },
    ],
  });
});

t.test("removing the app makes its token dead and sends no webhook", async (t) => {
  const receiver = await startWebhookReceiver(t);
  const sandbox = await startSandbox(t, { settings: { PUBLIC_URL: receiver.url } });
  const [token, other] = [await requestUserToken(sandbox), await requestUserToken(sandbox)];
  const { status, body } = await callSandbox(`${sandbox.base}/me/permissions`, { method: "DELETE", token });
  t.equal(status, 200);
  t.strictSame(body, { success: true });
  const after = await callSandbox(`${sandbox.base}/me`, { token });
  t.equal(after.status, 401);
  t.match(after.body.error, { code: 190, error_subcode: 458 });
  t.equal(
    (await callSandbox(`${sandbox.base}/me`, { token: other })).status,
    200,
    "another token stays valid",
  );
  t.same(receiver.received, []);
});

t.test("tokens survive a restart", async (t) => {
  const token = await requestUserToken(sandbox, { permissions: ["ads_read"] });
  const restarted = await startSandbox(t);
  const { body } = await callSandbox(`${restarted.base}/me/permissions`, { token });
  t.match(body.data, [{ permission: "ads_read", status: "granted" }]);
  const otherApp = await startSandbox(t, { settings: { PLATFORM_APP_SECRET: "another" } });
  t.equal(
    (await callSandbox(`${otherApp.base}/me`, { token })).body.error.code,
    190,
    "another app rejects them",
  );
});
