import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Test } from "tap";
import t from "tap";
import { callSandbox, startSandbox } from "../fixtures/sandbox/sandbox.ts";

const DEMO_API_KEY = "svc_test_the_demo_key";

/** A service that answers every request with this status and body. */
async function startService(t: Test, status: number, body: object) {
  const keys: unknown[] = [];
  const server = createServer((request, response) => {
    keys.push(request.headers["x-svc-api-key"]);
    response.writeHead(status).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  return { keys, PUBLIC_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const createSession = (origin: string) =>
  callSandbox(`${origin}/_sandbox/signup/session`, { method: "POST" });

t.test("the signup demo shows the example host page, and its API key stays in the sandbox", async (t) => {
  const secret = { id: "es_1", url: "http://localhost:1/embed/t", token: "t", prefill: {} };
  const { keys, PUBLIC_URL } = await startService(t, 201, secret);
  const { origin } = await startSandbox(t, { settings: { PUBLIC_URL }, demoApiKey: DEMO_API_KEY });
  const page = await callSandbox(`${origin}/_sandbox/signup`);
  t.match(page.headers.get("content-type"), "text/html");
  t.match(page.body, /<iframe id="signup"/);
  t.notMatch(page.body, DEMO_API_KEY);
  t.same((await createSession(origin)).body, { id: "es_1", url: "http://localhost:1/embed/t" });
  t.same(keys, [DEMO_API_KEY]);
});

t.test("the signup demo says why it cannot create a session", async (t) => {
  const withoutKey = await createSession((await startSandbox(t)).origin);
  t.match(withoutKey, { status: 409, body: { error: { message: /use npm start/ } } });
  const unreachable = await startSandbox(t, { demoApiKey: DEMO_API_KEY });
  t.match(await createSession(unreachable.origin), {
    status: 502,
    body: { error: { message: /does not answer at http:\/\/localhost:1/ } },
  });
  const { PUBLIC_URL } = await startService(t, 401, {
    error: "unauthorized",
    message: "The key has expired",
  });
  const refused = await startSandbox(t, { settings: { PUBLIC_URL }, demoApiKey: DEMO_API_KEY });
  t.match(await createSession(refused.origin), {
    status: 502,
    body: { error: { message: /refused to create a session: The key has expired/ } },
  });
});
