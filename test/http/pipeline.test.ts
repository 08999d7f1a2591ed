import { connect } from "node:net";
import t from "tap";
import { ApiError, overloaded } from "../../src/http/api-error.ts";
import { route } from "../../src/http/route.ts";
import { nullable, object, Type } from "../../src/schema/types.ts";
import { startApi } from "../fixtures/http/api.ts";
import { sendRaw } from "../fixtures/http/raw-request.ts";
import { until } from "../fixtures/until.ts";

const echo = Type.Object({ received: Type.Unknown() });

/** The route /slow waits for this. */
const slowReplies = { allowed: Promise.resolve() };

/** Routes that return their input. */
const routes = () => [
  route({
    method: "post",
    path: "/things",
    scope: "public",
    summary: "Create a thing",
    body: object({ name: Type.String({ minLength: 1 }), tags: Type.Optional(Type.Unknown()) }),
    status: 201,
    reply: echo,
    handle: ({ body }) => ({ received: body }),
  }),
  route({
    method: "patch",
    path: "/things/{thing_id}",
    scope: "public",
    summary: "Change a thing",
    params: object({ thing_id: Type.String({ pattern: "^\\d+$" }) }),
    body: object({ name: Type.Optional(Type.String()), secret: Type.Optional(nullable(Type.String())) }),
    reply: echo,
    handle: ({ params, body }) => ({ received: { ...params, ...body } }),
  }),
  route({
    method: "get",
    path: "/things/{thing_id}",
    scope: "public",
    summary: "Read a thing",
    params: object({ thing_id: Type.String() }),
    query: object({
      limit: Type.Optional(Type.Integer({ minimum: 1 })),
      deep: Type.Optional(Type.Boolean()),
    }),
    reply: echo,
    handle: ({ params, query }) => ({ received: { ...params, ...query } }),
  }),
  route({
    method: "delete",
    path: "/things/{thing_id}",
    scope: "public",
    summary: "Remove a thing",
    params: object({ thing_id: Type.String() }),
    handle: ({ setHeader }) => setHeader("X-Gone", "yes"),
  }),
  route({
    method: "post",
    path: "/pictures",
    scope: "public",
    summary: "Upload bytes",
    body: { limit: 1_000, mediaTypes: ["image/*", "application/pdf"] },
    reply: Type.Object({ size: Type.Integer() }),
    handle: ({ body }) => ({ size: body.length }),
  }),
  route({
    method: "get",
    path: "/broken",
    scope: "public",
    summary: "Fail",
    handle() {
      throw Object.assign(new Error("an internal detail"), { token: "hunter2" });
    },
  }),
  route({
    method: "get",
    path: "/full",
    scope: "public",
    summary: "Refuse for lack of capacity",
    errors: ["overloaded"],
    handle() {
      throw overloaded();
    },
  }),
  route({
    method: "get",
    path: "/things/list",
    scope: "public",
    summary: "Match after a route with a parameter was declared",
    reply: echo,
    handle: () => ({ received: "the list" }),
  }),
  route({
    method: "get",
    path: "/mangled",
    scope: "public",
    summary: "Fail while writing an error",
    handle() {
      throw new ApiError("not_found", "x", { headers: { "X-Broken": "a\nb" } });
    },
  }),
  route({
    method: "get",
    path: "/slow",
    scope: "public",
    summary: "Respond when the test allows it",
    reply: echo,
    async handle() {
      await slowReplies.allowed;
      return { received: "slow" };
    },
  }),
  route({
    method: "get",
    path: "/refused",
    scope: "public",
    summary: "Respond with an error",
    errors: ["channel_disconnected"],
    handle() {
      throw new ApiError("channel_disconnected", "The channel is not connected", {
        extra: { channel_id: "ch_1" },
      });
    },
  }),
];

t.test("the HTTP pipeline", async (t) => {
  const api = await startApi(t, { routes });

  t.test("a valid request reaches its handler regardless of its Content-Type", async (t) => {
    for (const type of ["application/json", "text/plain", "application/x-www-form-urlencoded"]) {
      const headers = { "content-type": type };
      const reply = await api.call("POST", "/things", { headers, json: { name: "é", tags: { any: [1] } } });
      t.equal(reply.status, 201);
      t.same(reply.body.received, { name: "é", tags: { any: [1] } });
    }
  });

  const BAD_BODIES: [string, string | Buffer, RegExp][] = [
    ["not JSON", "{name", /not valid JSON/],
    ["an array", "[]", /must be a JSON object/],
    ["null", "null", /must be a JSON object/],
    ["a string", '"x"', /must be a JSON object/],
    ["empty", "", /name is required/],
    ["an empty object", "{}", /name is required/],
    ["an object with an unknown field", '{"name":"x","color":"red"}', /color is not a known field/],
    ["an object with __proto__", '{"name":"x","__proto__":{"admin":true}}', /__proto__ is not a known field/],
    ["an object with null on POST", '{"name":null}', /name must be a string/],
    ["an object with U+0000 in a value", '{"name":"a\\u0000"}', /name contains the character U\+0000/],
    [
      "an object with U+0000 in a nested name",
      '{"name":"a","tags":[{"\\u0000":1}]}',
      /contains the character U\+0000/,
    ],
    ["an object with half a surrogate pair", '{"name":"\\ud800"}', /name is not well-formed Unicode/],
    ["not UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), /not valid UTF-8/],
    [
      "an object nested 101 levels deep",
      `{"name":"x","tags":${"[".repeat(100)}${"]".repeat(100)}}`,
      /nested deeper/,
    ],
  ];
  for (const [name, raw, message] of BAD_BODIES)
    t.test(`a body that is ${name} is answered with 400`, async (t) => {
      const reply = await api.call("POST", "/things", { raw });
      t.equal(reply.status, 400);
      t.equal(reply.body.error, "validation_failed");
      t.match(reply.body.message, message);
      t.notMatch(reply.text, "{name");
    });

  t.test("a byte order mark before the JSON is accepted", async (t) => {
    t.equal((await api.call("POST", "/things", { raw: '\ufeff{"name":"x"}' })).status, 201);
  });

  t.test("an error response names each invalid field", async (t) => {
    const { body } = await api.call("POST", "/things", { json: { name: "", color: 1 } });
    t.same(body.details.map((detail: { path: string }) => detail.path).sort(), ["/color", "/name"]);
  });

  t.test("null on PATCH counts as absent, unless the schema allows it", async (t) => {
    const reply = await api.call("PATCH", "/things/1", { json: { name: null, secret: null } });
    t.same(reply.body.received, { thing_id: "1", secret: null });
    t.equal((await api.call("PATCH", "/things/1", { json: { color: null } })).status, 400);
  });

  t.test("path and query parameters are validated and converted", async (t) => {
    t.same((await api.call("GET", "/things/a%20b?limit=5&deep=false")).body.received, {
      thing_id: "a b",
      limit: 5,
      deep: false,
    });
    const bad = ["limit=0", "limit=x", "limit=1&limit=2", "color=red", "limit=", "deep=maybe", "x=%00"];
    for (const query of bad) t.equal((await api.call("GET", `/things/1?${query}`)).status, 400, query);
    t.equal((await api.call("PATCH", "/things/x", { json: {} })).status, 400);
    t.equal((await api.call("GET", "/things/%00")).status, 400);
    t.equal((await api.call("GET", "/things/%E0%A4%A")).status, 400);
  });

  t.test("a body on a route without a body is rejected", async (t) => {
    t.equal((await api.call("DELETE", "/things/1", { json: { force: true } })).status, 400);
    const reply = await api.call("DELETE", "/things/1");
    t.equal(reply.status, 204);
    t.equal(reply.headers.get("x-gone"), "yes");
  });

  t.test("raw bodies reach the handler as bytes, with type and size checked", async (t) => {
    const post = (type: string, size: number) =>
      api.call("POST", "/pictures", { headers: { "content-type": type }, raw: Buffer.alloc(size) });
    t.same((await post("image/png", 1_000)).body, { size: 1_000 });
    t.same((await post("Application/PDF; x=y", 5)).body, { size: 5 });
    t.equal((await post("image/png", 1_001)).status, 413);
    const wrong = await post("text/html", 5);
    t.equal(wrong.status, 415);
    t.equal(wrong.body.error, "unsupported_media_type");
  });

  t.test(
    "an unknown path is answered with 404 and a wrong method with 405 and Allow, both as JSON",
    async (t) => {
      for (const path of ["/", "/thing", "/THINGS", "/things/", "/things/1/2", "//things"])
        t.equal((await api.call("GET", path)).body.error, "not_found", path);
      const reply = await api.call("PUT", "/things/1");
      t.equal(reply.status, 405);
      t.equal(reply.body.error, "method_not_allowed");
      t.equal(reply.headers.get("allow"), "PATCH, GET, DELETE, HEAD");
      t.equal((await api.call("OPTIONS", "/things")).headers.get("allow"), "POST");
    },
  );

  t.test("HEAD is answered like GET without a body", async (t) => {
    const reply = await api.call("HEAD", "/things/1");
    t.equal(reply.status, 200);
    t.equal(reply.text, "");
    const whole = await api.call("GET", "/things/1");
    t.equal(reply.headers.get("content-length"), whole.headers.get("content-length"));
  });

  t.test("a refusal for lack of capacity is an info line without a stack", async (t) => {
    const reply = await api.call("GET", "/full");
    t.equal(reply.status, 503);
    t.ok(reply.headers.has("retry-after"));
    const lines = api.lines.filter((line) => line.request_id === reply.body.request_id);
    t.match(lines, [{ event: "http.request", level: "info", status: 503, error: "overloaded" }]);
    t.notMatch(JSON.stringify(lines), /stack/);
  });

  t.test(
    "an internal fault is answered with 500 without details and logged under the request id",
    async (t) => {
      const reply = await api.call("GET", "/broken");
      t.equal(reply.status, 500);
      t.equal(reply.body.error, "internal_error");
      t.notMatch(reply.text, /detail|hunter2/);
      const line = api.lines.find((line) => line.event === "http.failed");
      t.match(line, { request_id: reply.body.request_id, err: /an internal detail/ });
      t.notMatch(JSON.stringify(api.lines), /hunter2/);
    },
  );

  t.test("a fault while writing an error is an internal error", async (t) => {
    t.equal((await api.call("GET", "/mangled")).body.error, "internal_error");
  });

  t.test("a literal path matches before a path with a parameter", async (t) => {
    t.equal((await api.call("GET", "/things/list")).body.received, "the list");
  });

  t.test("an API error has its code, status and extra fields", async (t) => {
    const reply = await api.call("GET", "/refused");
    t.equal(reply.status, 409);
    t.match(reply.body, { error: "channel_disconnected", channel_id: "ch_1" });
    t.equal(reply.body.details, undefined);
  });

  t.test("every response has a request id, which is the caller's own if it is valid", async (t) => {
    const idFor = async (given: string) =>
      (await api.call("GET", "/things/1", { headers: { "x-request-id": given } })).headers.get(
        "x-request-id",
      );
    t.equal(await idFor("mine-1"), "mine-1");
    t.equal(await idFor("x".repeat(128)), "x".repeat(128));
    for (const unfit of ["x".repeat(129), "with space", "é", ""]) t.match(await idFor(unfit), /^req_\w{26}$/);
    const reply = await api.call("GET", "/nowhere");
    t.equal(reply.body.request_id, reply.headers.get("x-request-id"));
    t.equal(reply.headers.get("x-api-version"), "2026-11-01");
  });

  t.test("requests are logged with the route pattern, never with the URL", async (t) => {
    await api.call("GET", "/things/sesame?limit=7");
    await api.call("GET", "/nowhere/sesame");
    t.notMatch(JSON.stringify(api.lines), /sesame/);
    const line = api.lines.find((line) => line.route === "/things/{thing_id}" && line.method === "GET");
    t.match(line, { event: "http.request", request_id: String, status: 200, ms: Number });
    t.same(Object.keys(line ?? {}).at(-2), "ms", "the duration comes last, before the event's name");
  });
});

t.test("a contradictory route table fails at startup", async (t) => {
  const thing = {
    method: "get",
    path: "/thing",
    scope: "public",
    summary: "x",
    handle: () => undefined,
  } as const;
  await t.rejects(startApi(t, { routes: () => [route(thing), route(thing)] }), /two routes for GET \/thing/);
  const gated = route({ ...thing, gate: "unknown" });
  await t.rejects(startApi(t, { routes: () => [gated] }), /unknown gate "unknown"/);
});

t.test("requests that the HTTP parser rejects", async (t) => {
  const api = await startApi(t, { routes });
  const { hostname, port } = new URL(api.address);

  const send = (bytes: string) => sendRaw(api.address, bytes);

  const UNREADABLE: [string, string, RegExp][] = [
    ["a request that is not HTTP", "hello\r\n\r\n", /not valid HTTP/],
    ["a request with an unknown method", "BREW /things HTTP/1.1\r\nHost: x\r\n\r\n", /not valid HTTP/],
    [
      "a request with too large headers",
      `GET / HTTP/1.1\r\nHost: x\r\nA: ${"x".repeat(20_000)}\r\n\r\n`,
      /headers are too large/,
    ],
    [
      "a request with a broken chunk",
      "POST /things HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      /not valid HTTP|ended before/,
    ],
    [
      "a request with two lengths",
      "POST /things HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
      /not valid HTTP/,
    ],
  ];
  for (const [name, bytes, message] of UNREADABLE)
    t.test(`${name} gets the standard error body`, async (t) => {
      const [head = "", body = ""] = (await send(bytes)).split("\r\n\r\n");
      t.match(head, /^HTTP\/1\.1 400 /);
      t.match(head, /x-request-id: req_\w{26}/i);
      t.match(JSON.parse(body), { error: "validation_failed", message, request_id: /^req_/ });
    });

  t.test("an invalid URL is answered with 404 as JSON", async (t) => {
    const answer = await send("GET http://[::1/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    t.match(answer, /^HTTP\/1\.1 404 /);
    t.match(JSON.parse(answer.split("\r\n\r\n")[1] as string), { error: "not_found" });
  });

  t.test("garbage after a request does not produce a second response", async (t) => {
    let allow = () => {};
    slowReplies.allowed = new Promise<void>((resolve) => {
      allow = resolve;
    });
    t.equal(await send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\nnonsense\r\n\r\n"), "");
    allow();
  });

  t.test("a sender that disconnects while sending its body leaves no request open", async (t) => {
    const socket = connect(Number(port), hostname, () =>
      socket.write(
        'POST /things HTTP/1.1\r\nHost: x\r\nX-Request-Id: gone\r\nContent-Length: 100\r\n\r\n{"name',
      ),
    );
    await until("the request has arrived", () => socket.bytesWritten > 0);
    socket.destroy();
    await until("the request is logged", () => api.lines.find((line) => line.request_id === "gone"));
    t.equal((await api.call("POST", "/things", { json: { name: "x" } })).status, 201);
  });

  t.test("a compressed body is answered with 415", async (t) => {
    const reply = await api.call("POST", "/things", { headers: { "content-encoding": "gzip" }, raw: "x" });
    t.equal(reply.status, 415);
    t.equal(reply.body.error, "unsupported_media_type");
  });
});

t.test("the caller's address is the socket's, or the one that the trusted proxies saw", async (t) => {
  const address = route({
    method: "get",
    path: "/address",
    scope: "public",
    summary: "Return the caller's address",
    reply: Type.Object({ address: Type.String() }),
    handle: ({ address }) => ({ address }),
  });
  const addressBehind = async (TRUST_PROXY: string) => {
    const api = await startApi(t, { routes: () => [address], settings: { TRUST_PROXY } });
    const headers = { "x-forwarded-for": "198.51.100.1, 198.51.100.2" };
    return (await api.call("GET", "/address", { headers })).body.address;
  };
  t.equal(await addressBehind("0"), "127.0.0.1");
  t.equal(await addressBehind("1"), "198.51.100.2");
  t.equal(await addressBehind("2"), "198.51.100.1");
  t.equal(await addressBehind("9"), "198.51.100.1");
});
