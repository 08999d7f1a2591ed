import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Test } from "tap";
import t from "tap";
import {
  callSandbox,
  type RunningSandbox,
  SANDBOX_SETTINGS,
  startSandbox,
  startWebhookReceiver,
} from "../fixtures/sandbox/sandbox.ts";
import { until } from "../fixtures/until.ts";

const APP = SANDBOX_SETTINGS.PLATFORM_APP_ID;
const token = `${APP}|${SANDBOX_SETTINGS.PLATFORM_APP_SECRET}`;

type Echo = (query: URLSearchParams) => { status: number; text: string };

/** Starts a receiver that answers the handshake with `echo`. */
async function startReceiver(t: Test, echo: Echo) {
  const challenges: URLSearchParams[] = [];
  const receivedPaths: string[] = [];
  const server = createServer((request, response) => {
    const { searchParams, pathname } = new URL(request.url ?? "/", "http://localhost");
    if (request.method === "POST") receivedPaths.push(pathname);
    else challenges.push(searchParams);
    const { status, text } = echo(searchParams);
    request.resume();
    response.writeHead(status).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    challenges,
    receivedPaths,
  };
}

const subscribe = ({ base }: RunningSandbox, form: Record<string, string>) =>
  callSandbox(`${base}/${APP}/subscriptions`, {
    token,
    form: { object: "page", fields: "feed,leadgen", verify_token: "v", ...form },
  });

const echoChallenge: Echo = (query) => ({ status: 200, text: query.get("hub.challenge") ?? "" });

t.test("the app node is readable only with the app's own token", async (t) => {
  const { base } = await startSandbox(t);
  t.match((await callSandbox(`${base}/${APP}`, { token })).body, { id: APP, name: /./, link: /^http/ });
  t.match(await callSandbox(`${base}/${APP}`, { token: "EAASandboxDemoAds" }), {
    status: 401,
    body: { error: { code: 104 } },
  });
});

t.test("webhooks are sent to the URL that echoed the challenge", async (t) => {
  const former = await startWebhookReceiver(t);
  const sandbox = await startSandbox(t, { settings: { PUBLIC_URL: former.url } });
  const { url, challenges, receivedPaths } = await startReceiver(t, echoChallenge);
  t.same((await subscribe(sandbox, { callback_url: `${url}?own=1` })).body, { success: true });
  t.match(Object.fromEntries(challenges[0] ?? []), {
    own: "1",
    "hub.mode": "subscribe",
    "hub.challenge": /^\d{10}$/,
    "hub.verify_token": "v",
  });
  t.match((await callSandbox(`${sandbox.base}/${APP}/subscriptions`, { token })).body.data, [
    {
      object: "page",
      callback_url: `${url}?own=1`,
      active: true,
      fields: [{ name: "feed" }, { name: "leadgen" }],
    },
  ]);
  await callSandbox(`${sandbox.origin}/_sandbox/webhook`, { json: { object: "page", entry: [{ id: "1" }] } });
  await until("arrived", () => receivedPaths.length === 1);
  t.same(former.received, []);
});

t.test("a subscription to one object leaves the webhooks of other objects at their URL", async (t) => {
  const former = await startWebhookReceiver(t);
  const sandbox = await startSandbox(t, { settings: { PUBLIC_URL: former.url } });
  const [pages, photos] = [await startReceiver(t, echoChallenge), await startReceiver(t, echoChallenge)];
  await subscribe(sandbox, { object: "page", callback_url: pages.url });
  await subscribe(sandbox, { object: "instagram", callback_url: photos.url });
  for (const object of ["page", "instagram", "ad_account"])
    await callSandbox(`${sandbox.origin}/_sandbox/webhook`, { json: { object, entry: [{ id: "1" }] } });
  await until(
    "all arrived",
    () => pages.receivedPaths.length + photos.receivedPaths.length + former.received.length === 3,
  );
  t.same([pages.receivedPaths.length, photos.receivedPaths.length], [1, 1]);
  t.equal(former.received[0]?.body.object, "ad_account");
});

t.test("a receiver that does not echo the challenge is not subscribed", async (t) => {
  const former = await startWebhookReceiver(t);
  const sandbox = await startSandbox(t, { settings: { PUBLIC_URL: former.url } });
  const refusals: [Echo, RegExp][] = [
    [() => ({ status: 403, text: "" }), /HTTP Status Code = 403/],
    [() => ({ status: 200, text: "hello" }), /does not match challenge/],
    [(query) => ({ status: 201, text: query.get("hub.challenge") ?? "" }), /HTTP Status Code = 201/],
  ];
  for (const [echo, message] of refusals) {
    const { url } = await startReceiver(t, echo);
    t.match(await subscribe(sandbox, { callback_url: url }), {
      status: 400,
      body: { error: { code: 2200, message } },
    });
  }
  const unreachable = await subscribe(sandbox, { callback_url: "http://127.0.0.1:1/" });
  t.match(unreachable.body.error, { code: 2200, message: /No answer/ });
  await callSandbox(`${sandbox.origin}/_sandbox/webhook`, { json: { object: "page", entry: [{ id: "1" }] } });
  await until("a webhook arrived at the former URL", () => former.received.length === 1);
});

t.test("a subscription requires an object, a callback URL and a verify token", async (t) => {
  const sandbox = await startSandbox(t);
  for (const [form, message] of [
    [{ object: "cat", callback_url: "http://localhost" }, /Param object must be one of/],
    [{ callback_url: "ftp://localhost" }, /callback_url must be a valid URL/],
    [{}, /callback_url is required/],
    [{ callback_url: "http://localhost:1", verify_token: "" }, /verify_token is required/],
  ] as [Record<string, string>, RegExp][])
    t.match((await subscribe(sandbox, form)).body.error, { code: 100, message });
});
