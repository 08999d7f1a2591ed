import t from "tap";
import { createRecords } from "../../../src/sandbox/server/records.ts";
import {
  callSandbox,
  proofFor,
  type RunningSandbox,
  SANDBOX_SETTINGS,
  startSandbox,
} from "../../fixtures/sandbox/sandbox.ts";

const APP = SANDBOX_SETTINGS.PLATFORM_APP_ID;

const requestsOf = async ({ origin }: RunningSandbox, query = {}) =>
  (await callSandbox(`${origin}/_sandbox/requests`, { query })).body.data;

t.test("requests to the platforms are listed unchanged, newest first", async (t) => {
  const sandbox = await startSandbox(t);
  const token = "EAASandboxDemoChat";
  await callSandbox(`${sandbox.base}/${APP}`, { token, query: { fields: "id" } });
  await callSandbox(`${sandbox.base}/1/messages`, { token, json: { to: "1", text: { body: "Olá" } } });
  await callSandbox(`${sandbox.base}/1/campaigns`, { token, form: { name: "x", special: "[]" } });
  const upload = new FormData();
  upload.set("type", "image/png");
  upload.set("file", new Blob([new Uint8Array([0x89, 0xff])], { type: "image/png" }), "a.png");
  await callSandbox(`${sandbox.base}/1/media`, { token, body: upload });
  await callSandbox(`${sandbox.base}/1`, { body: "plain", headers: { "content-type": "text/plain" } });
  await callSandbox(`${sandbox.base}/1`, {
    body: new Uint8Array([0xff, 0xfe]),
    headers: { "content-type": "image/png" },
  });

  const requests = await requestsOf(sandbox);
  t.same(
    requests.map(({ body }: { body: unknown }) => body),
    [
      { bytes: 2 },
      "plain",
      { type: "image/png", file: { filename: "a.png", type: "image/png", bytes: 2 } },
      { name: "x", special: "[]" },
      { to: "1", text: { body: "Olá" } },
      null,
    ],
  );
  t.match(requests.at(-1), {
    at: /^\d{4}-\d\d-\d\dT[\d:.]+Z$/,
    method: "GET",
    path: `/v26.0/${APP}`,
    query: { fields: "id", appsecret_proof: proofFor(token) },
    headers: { authorization: `Bearer ${token}` },
    status: 401,
  });
});

t.test("clear=true deletes the requests after listing them", async (t) => {
  const sandbox = await startSandbox(t);
  await callSandbox(`${sandbox.base}/1`);
  t.equal((await requestsOf(sandbox, { clear: "false" })).length, 1);
  t.equal((await requestsOf(sandbox, { clear: "true" })).length, 1);
  t.same(await requestsOf(sandbox), []);
});

t.test("requests to control routes are not recorded", async (t) => {
  const sandbox = await startSandbox(t);
  for (const path of ["/_sandbox", "/_sandbox/inbox", "/_sandbox/none"])
    await callSandbox(`${sandbox.origin}${path}`);
  await callSandbox(`${sandbox.origin}/_sandbox/inbox`, { json: {} });
  t.same(await requestsOf(sandbox), []);
});

t.test("the inbox accepts every request and keeps the raw body", async (t) => {
  const { origin } = await startSandbox(t);
  const raw = '{ "event":"message.received",  "id": 12345678901234567890 }';
  const headers = { "content-type": "application/json", "x-signature": "sha256=abc" };
  t.match(await callSandbox(`${origin}/_sandbox/inbox/orders/1?a=b`, { body: raw, headers }), {
    status: 200,
    body: { received: true },
  });
  for (const type of ["application/json", "text/plain", "multipart/form-data"])
    t.equal(
      (await callSandbox(`${origin}/_sandbox/inbox`, { body: "not { it", headers: { "content-type": type } }))
        .status,
      200,
    );
  const { data } = (await callSandbox(`${origin}/_sandbox/inbox`, { query: { clear: "true" } })).body;
  t.equal(data.length, 4);
  t.match(data[0], { body: "not { it", raw: "not { it" });
  t.match(data[3], {
    method: "POST",
    path: "/_sandbox/inbox/orders/1",
    query: { a: "b" },
    headers,
    body: { event: "message.received" },
    raw,
  });
  t.same((await callSandbox(`${origin}/_sandbox/inbox`)).body, { data: [] });
  t.equal((await callSandbox(`${origin}/_sandbox/inbox`, { method: "PUT" })).status, 404);
});

t.test("the oldest records are evicted, and a large body is recorded as its size", async (t) => {
  const records = createRecords({ maxRecords: 3, maxBodyBytes: 4, maxTotalBytes: 6 });
  const add = (text: string) =>
    records.add({
      method: "POST",
      url: new URL(`http://localhost/${text}`),
      headers: {},
      body: Buffer.from(text),
    });
  const shownBodies = async () => (await records.list()).map((shown) => (shown as { body: unknown }).body);
  for (const text of ["a", "b", "c", "d"]) add(text);
  t.same(await shownBodies(), ["d", "c", "b"]);
  add("12345");
  t.same(await shownBodies(), [{ bytes: 5 }, "d", "c"]);
  add("1234");
  add("567");
  t.same(await shownBodies(), ["567"]);
  records.clear();
  add("1234");
  t.same(await shownBodies(), ["1234"]);
});

t.test("JSON nested 20,000 levels deep is recorded as text and refused by control routes", async (t) => {
  const sandbox = await startSandbox(t);
  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const headers = { "content-type": "application/json" };
  for (const address of [`${sandbox.origin}/_sandbox/inbox`, `${sandbox.base}/1`])
    await callSandbox(address, { body: deep, headers });
  t.equal((await requestsOf(sandbox))[0].body, deep);
  t.equal((await callSandbox(`${sandbox.origin}/_sandbox/inbox`)).body.data[0].body, deep);
  const message = `{"channel":"1300000000000401","from":"1","type":"text","content":{"text":${deep}}}`;
  for (const [route, body] of [
    ["inbound", message],
    ["webhook", `{"object":"page","entry":[{"id":"1","changes":${deep}}]}`],
    ["faults", deep],
  ] as const)
    t.equal((await callSandbox(`${sandbox.origin}/_sandbox/${route}`, { body })).status, 400, route);
});

t.test("long integers are listed unchanged", async (t) => {
  const { origin } = await startSandbox(t);
  const body = '{"id":12345678901234567890}';
  await callSandbox(`${origin}/_sandbox/inbox`, { body, headers: { "content-type": "application/json" } });
  t.match(await (await fetch(`${origin}/_sandbox/inbox`)).text(), `"body":${body}`);
});

t.test("a content type can be written in uppercase", async (t) => {
  const sandbox = await startSandbox(t);
  for (const [type, body] of [
    ["Application/JSON", '{"fields":"id"}'],
    ["Application/X-WWW-Form-UrlEncoded", "fields=id"],
    [
      "Multipart/Form-Data; boundary=Xx",
      '--Xx\r\ncontent-disposition: form-data; name="fields"\r\n\r\nid\r\n--Xx--\r\n',
    ],
  ] as const) {
    const { status, body: answer } = await callSandbox(`${sandbox.base}/1`, {
      body,
      headers: { "content-type": type },
    });
    t.match([status, answer.error.code], [401, 104], `${type} is parsed, and the token is missing`);
    t.same((await requestsOf(sandbox))[0].body, { fields: "id" }, `${type} is listed`);
  }
});
