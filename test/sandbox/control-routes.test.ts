import { createServer } from "node:http";
import { connect } from "node:net";
import t from "tap";
import { AD_ACCOUNTS, BUILT_IN_TOKENS, PAGES } from "../../src/sandbox/built-in-assets.ts";
import { FAULT_EFFECTS } from "../../src/sandbox/faults.ts";
import { createSandbox } from "../../src/sandbox/sandbox.ts";
import { captureLog } from "../fixtures/captured-log.ts";
import { callSandbox, SANDBOX_SETTINGS, startSandbox } from "../fixtures/sandbox/sandbox.ts";

t.test("GET /_sandbox lists the endpoints, faults, assets and tokens", async (t) => {
  const { origin, base } = await startSandbox(t);
  const index = await callSandbox(`${origin}/_sandbox`);
  t.equal(index.status, 200);
  t.match(index.body, { platforms: base, app_id: SANDBOX_SETTINGS.PLATFORM_APP_ID });
  t.equal(index.body.config_id, SANDBOX_SETTINGS.SIGNUP_CONFIG_ID);
  t.same(index.body.dialogs, [`${origin}/dialog/oauth`, `${origin}/dialog/signup`]);
  t.same((await callSandbox(origin)).body, index.body);
  const routes = index.body.endpoints.map(({ endpoint }: { endpoint: string }) => endpoint);
  for (const route of ["POST /_sandbox/faults", "POST /_sandbox/inbound", "GET /_sandbox/requests"])
    t.ok(routes.includes(route), route);
  t.same(
    index.body.faults,
    Object.entries(FAULT_EFFECTS).map(([kind, effect]) => ({ kind, effect })),
  );
  t.match(index.body.ad_accounts[0], {
    id: `act_${AD_ACCOUNTS[0]?.id}`,
    image_hash: AD_ACCOUNTS[0]?.imageHash,
  });
  t.match(index.body.pages, PAGES);
  t.same(
    index.body.tokens.map(({ token }: { token: string }) => token),
    Object.keys(BUILT_IN_TOKENS),
  );
});

t.test("an unknown endpoint is not found", async (t) => {
  const { origin } = await startSandbox(t);
  for (const [method, path] of [
    ["GET", "/_sandbox/none"],
    ["DELETE", "/_sandbox/requests"],
    ["GET", "/_sandbox/inbox/x"],
  ] as const) {
    const { status, body } = await callSandbox(`${origin}${path}`, { method });
    t.equal(status, 404);
    t.match(body.error.message, `There is no ${method} ${path}; GET /_sandbox lists the endpoints`);
  }
  t.match(
    (await callSandbox(`${origin}/_sandboxes`)).body.error,
    { code: 2500 },
    "/_sandboxes is not a control path",
  );
});

t.test("the sandbox listens on both loopback addresses", async (t) => {
  const { origin } = await startSandbox(t);
  const { port } = new URL(origin);
  const hosts = ["127.0.0.1", ...((await hasIPv6()) ? ["[::1]"] : [])];
  for (const host of hosts)
    t.equal((await callSandbox(`http://${host}:${port}/_sandbox`)).body.platforms, `${origin}/v26.0`);
});

const hasIPv6 = () =>
  new Promise<boolean>((resolve) => {
    const server = createServer().once("error", () => resolve(false));
    server.listen(0, "::1", () => server.close(() => resolve(true)));
  });

t.test("a request aborted by the caller is not logged as an error", async (t) => {
  const { log, events, lines } = captureLog();
  const sandbox = createSandbox({ settings: SANDBOX_SETTINGS, port: 0, mediaPort: 0, log });
  await sandbox.start?.({ fail: (error) => t.fail(String(error)) });
  const socket = connect(Number(new URL(sandbox.origin()).port), "127.0.0.1");
  socket.write("POST /v26.0/1 HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\nhalf");
  await new Promise<void>((resolve) => socket.end(resolve));
  await callSandbox(`${sandbox.origin()}/_sandbox`);
  await sandbox.close?.();
  t.same(events(), ["sandbox.listening"], JSON.stringify(lines));
});

const MEBIBYTE = 1024 * 1024;
const CHUNK = `${MEBIBYTE.toString(16)}\r\n${"a".repeat(MEBIBYTE)}\r\n`;

for (const [how, header, chunks] of [
  ["its length", `content-length: ${111 * MEBIBYTE}`, 0],
  ["its chunks", "transfer-encoding: chunked", 111],
] as const)
  t.test(`a body that is too large is refused early, detected by ${how}`, async (t) => {
    const { origin } = await startSandbox(t);
    const socket = connect(Number(new URL(origin).port), "127.0.0.1").on("error", () => {});
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    let answer = "";
    socket.on("data", (data) => {
      answer += data;
    });
    socket.write(`POST /v26.0/1 HTTP/1.1\r\nhost: localhost\r\n${header}\r\n\r\n`);
    for (let sent = 0; sent < chunks; sent++) socket.write(CHUNK);
    await closed;
    t.match(answer, /^HTTP\/1.1 413 /);
    t.match(answer, /^connection: close/im);
  });

t.test("the log has every call to a platform without secrets", async (t) => {
  const { log, lines } = captureLog();
  const sandbox = createSandbox({ settings: SANDBOX_SETTINGS, port: 0, mediaPort: 0, log });
  await sandbox.start?.({ fail: (error) => t.fail(String(error)) });
  t.teardown(() => sandbox.close?.());
  const secrets = {
    access_token: "secret-access-token",
    appsecret_proof: "secret-proof",
    client_secret: "secret-client-secret",
    input_token: "secret-input-token",
  };
  const origin = sandbox.origin();
  const address = `${origin}/v26.0/me/accounts`;
  await callSandbox(address, { query: secrets, token: "secret-bearer" });
  await callSandbox(address, { form: { ...secrets, text: "secret-body" } });
  await callSandbox(`${origin}/_sandbox/inbox`, { json: { text: "secret-event" } });
  const kind = "drop_before";
  await callSandbox(`${origin}/_sandbox/faults`, { json: { kind } });
  await t.rejects(callSandbox(address, { query: secrets }));

  const [, first, second, third, ...rest] = lines;
  const line = { event: "sandbox.answered", level: "info", path: "/v26.0/me/accounts", ms: Number };
  t.match(first, { ...line, method: "GET", status: 401, code: 190 });
  t.match(second, { ...line, method: "POST", status: 401, code: 190 });
  t.match(third, { ...line, method: "GET", status: "dropped" });
  t.same(rest, []);
  t.notMatch(JSON.stringify(lines), /secret-/);
});
