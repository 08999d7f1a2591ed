import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import t from "tap";
import { route } from "../../../src/http/route.ts";
import { Type } from "../../../src/schema/types.ts";
import { type Api, callerHeaders, startApi } from "../../fixtures/http/api.ts";
import { until } from "../../fixtures/until.ts";

const [KIB, MIB] = [1_024, 1_048_576];

/** Handlers wait here while `isHeld`, so that their bodies stay in memory. */
const gate = { isHeld: false, waiting: 0 };

async function holdBody() {
  gate.waiting += 1;
  await until("the handlers may continue", () => !gate.isHeld);
  gate.waiting -= 1;
  return {};
}

const LARGE_ANSWER = "x".repeat(32_000_000);

const anyBody = Type.Object({ name: Type.Optional(Type.String()) }, { additionalProperties: true });
const empty = Type.Object({});

const routes = () => [
  route({
    method: "post",
    path: "/open",
    scope: "public",
    summary: "Accept a body without a credential",
    body: anyBody,
    reply: empty,
    handle: () => ({}),
  }),
  route({
    method: "post",
    path: "/open/raw",
    scope: "public",
    summary: "Accept raw bytes without a credential and hold them",
    body: { limit: 4 * MIB, part: "webhook" },
    reply: empty,
    handle: holdBody,
  }),
  route({
    method: "post",
    path: "/guarded",
    scope: "any_credential",
    summary: "Accept a body from a client and hold it",
    body: anyBody,
    reply: empty,
    handle: holdBody,
  }),
  route({
    method: "get",
    path: "/large",
    scope: "any_credential",
    summary: "Return a text that is larger than the buffers of the operating system and a client's share",
    reply: { mediaType: "text/plain" },
    handle: () => LARGE_ANSWER,
  }),
  route({
    method: "post",
    path: "/content",
    scope: "any_credential",
    summary: "Accept small fields",
    body: anyBody,
    maxFieldBytes: 256 * KIB,
    reply: empty,
    handle: () => ({}),
  }),
];

const start = async (settings: Record<string, string> = {}) => {
  const api = await startApi(t, { routes, settings });
  const headers = await callerHeaders(api.db);
  const post = (path: string, raw: string | Buffer) => api.call("POST", path, { headers, raw });
  return { api, post };
};

/** The tests share two APIs, because starting one takes longer than most of them. */
const usual = await start();
const withLittleMemory = await start({ BODY_MEMORY_MB: "64" });

/** A JSON object of exactly this many bytes. */
const bodyOf = (bytes: number, field = "name") => `{"${field}":"${"a".repeat(bytes - field.length - 7)}"}`;

t.test("a route without a credential accepts 16 KiB, another one 10 MiB", async (t) => {
  const { api, post } = usual;
  const open = async (bytes: number) => (await api.call("POST", "/open", { raw: bodyOf(bytes) })).status;
  t.equal(await open(16 * KIB), 200);
  t.equal(await open(16 * KIB + 1), 413);
  t.equal((await post("/guarded", bodyOf(10 * MIB))).status, 200);
  t.equal((await post("/guarded", bodyOf(10 * MIB + 1))).body.error, "payload_too_large");
});

t.test("a body with too many levels or values is refused before it is parsed", async (t) => {
  const { post } = usual;
  const refusal = async (raw: string) => (await post("/guarded", raw)).body;
  const nested = (levels: number) => `{"x":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
  const list = (items: number) => `{"x":[${Array(items).fill("0").join()}]}`;
  t.equal((await post("/guarded", nested(100))).status, 200);
  t.match(await refusal(nested(101)), { error: "validation_failed", message: /deeper than 100 levels/ });
  t.match(await refusal(nested(100_000)), { message: /deeper than 100 levels/ });
  t.equal((await post("/guarded", list(49_998))).status, 200, "the object and the array count");
  t.match(await refusal(list(49_999)), { error: "validation_failed", message: /more than 50000 values/ });
  t.match(await refusal(`{"x":[${"[],".repeat(100_000)}[]]}`), { message: /more than 50000 values/ });
  const fields = Array.from({ length: 100_000 }, (_, index) => `"f${index}":1`);
  t.match(await refusal(`{${fields.join(",")}}`), { message: /more than 50000 values/ });
});

t.test("a number of more than 100 characters is refused before it is parsed", async (t) => {
  const { api, post } = usual;
  const MESSAGE = "The body has a number of more than 100 characters";
  for (const number of ["9".repeat(100), `-${"9".repeat(99)}`, `0.${"9".repeat(98)}`])
    t.equal((await post("/guarded", `{"x":[${number}]}`)).status, 200);
  for (const number of ["9".repeat(101), `-${"9".repeat(100)}`, `0.${"9".repeat(99)}`, "9".repeat(1_000_000)])
    t.match((await post("/guarded", `{"x":[${number}]}`)).body, {
      error: "validation_failed",
      message: MESSAGE,
    });
  const refused = await api.call("POST", "/open", { raw: `{"x":${"9".repeat(15_000)}}` });
  t.match(refused.body, { error: "validation_failed", message: MESSAGE });
  t.equal(
    (await post("/guarded", `{"x":"${"9".repeat(2_000)}"}`)).status,
    200,
    "digits in a string are text",
  );
});

t.test("a field that is larger than its route accepts is named in a 400", async (t) => {
  const { post } = usual;
  const field = (bytes: number) => `{"content":"${"a".repeat(bytes - 2)}","name":"x"}`;
  t.equal((await post("/content", field(256 * KIB))).status, 200);
  const { status, body } = await post("/content", field(256 * KIB + 1));
  t.equal(status, 400);
  t.match(body, {
    error: "validation_failed",
    message: "content must have at most 262144 bytes",
    details: [{ path: "/content" }],
  });
});

/** Sends requests whose bodies stay in memory; returns their statuses once `release` is called. */
async function holdBodies(api: Api, path: string, bodies: readonly string[]) {
  gate.isHeld = true;
  const headers = path === "/guarded" ? await callerHeaders(api.db) : {};
  const replies = bodies.map((raw) => api.call("POST", path, { headers, raw }));
  await until("the handlers hold the bodies", () => gate.waiting === bodies.length);
  return async () => {
    gate.isHeld = false;
    return (await Promise.all(replies)).map(({ status }) => status);
  };
}

t.test(
  "a client beyond its share waits until its other requests have ended, and the others do not",
  async (t) => {
    const { api, post } = withLittleMemory; // 24 MB for clients, 6 MB of them for one client
    const release = await holdBodies(api, "/guarded", [bodyOf(4 * MIB)]);
    const own = await callerHeaders(api.db);
    const held = [4, 4].map((mib) => api.call("POST", "/guarded", { headers: own, raw: bodyOf(mib * MIB) }));
    await until("the first of them is in memory", () => gate.waiting === 2);
    t.equal(
      (await api.call("POST", "/content", { headers: own, raw: bodyOf(100) })).status,
      200,
      "small ones pass",
    );
    t.equal(
      (await post("/content", `{"a":"${"x".repeat(200 * KIB)}"}`)).status,
      200,
      "other clients are served",
    );
    t.equal(gate.waiting, 2, "the second one is not read");
    t.same(await release(), [200]);
    t.same(
      (await Promise.all(held)).map(({ status }) => status),
      [200, 200],
    );
  },
);

t.test("the bodies of routes without a credential do not take the memory of clients", async (t) => {
  const { api, post } = withLittleMemory; // 8 MB for webhooks of strangers
  const body = bodyOf(3 * MIB);
  const release = await holdBodies(api, "/open/raw", [body]);
  const waiting = [body, body].map((raw) => api.call("POST", "/open/raw", { raw }));
  t.equal((await post("/content", `{"a":"${"x".repeat(200 * KIB)}"}`)).status, 200);
  t.equal((await api.call("POST", "/open", { raw: bodyOf(KIB) })).status, 200);
  t.equal(gate.waiting, 1);
  t.same(await release(), [200]);
  t.same(
    (await Promise.all(waiting)).map(({ status }) => status),
    [200, 200],
  );
});

t.test("a client takes its answers before it gets further ones, and the others do not wait", async (t) => {
  const { api, post } = withLittleMemory;
  const headers = await callerHeaders(api.db);
  const unread = request(`${api.address}/large`, { headers, agent: false }).end();
  const [response] = (await once(unread, "response")) as [IncomingMessage];
  const next = api.call("POST", "/content", { headers, raw: bodyOf(100) });
  let isAnswered = false;
  void next.then(() => (isAnswered = true));
  t.equal((await post("/content", bodyOf(100))).status, 200, "another client");
  t.equal(isAnswered, false);
  response.destroy();
  t.equal((await next).status, 200);
});

t.test("the bytes of a sender that disconnects are released", async (t) => {
  const { api, post } = withLittleMemory;
  const headers = { ...(await callerHeaders(api.db)), "content-length": String(9 * MIB) };
  for (let count = 0; count < 3; count++) {
    const outgoing = request(`${api.address}/guarded`, { method: "POST", headers });
    outgoing.on("error", () => {});
    const requestsLogged = () => api.lines.filter(({ event }) => event === "http.request").length;
    const logged = requestsLogged();
    outgoing.write(Buffer.alloc(8 * MIB, " "), () => outgoing.destroy());
    await until("the request has ended", () => requestsLogged() > logged);
  }
  t.equal((await post("/guarded", bodyOf(10 * MIB))).status, 200);
});
