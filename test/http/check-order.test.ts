import { request } from "node:http";
import t from "tap";
import { ApiError } from "../../src/http/api-error.ts";
import { route } from "../../src/http/route.ts";
import { object, Type } from "../../src/schema/types.ts";
import { callerHeaders, startApi } from "../fixtures/http/api.ts";

const MIB = 1_048_576;

const guarded = route({
  method: "post",
  path: "/guarded/{id}",
  scope: "marketing:manage",
  consoleOnly: true,
  roles: ["owner", "admin"],
  gate: "terms",
  summary: "Require every kind of check",
  params: object({ id: Type.String({ pattern: "^\\d+$" }) }),
  body: object({ name: Type.String() }),
  reply: Type.Object({ ok: Type.Boolean() }),
  handle: ({ caller }) => ({ ok: caller.role !== null }),
});

const routes = () => [
  guarded,
  route({
    method: "get",
    path: "/either",
    scope: ["templates:manage", "messages:send"],
    summary: "Accept one of two scopes",
    reply: Type.Object({}),
    handle: () => ({}),
  }),
  route({
    method: "get",
    path: "/any-credential",
    scope: "any_credential",
    summary: "Accept any credential",
    reply: Type.Object({ client: Type.String() }),
    handle: ({ caller }) => ({ client: caller.clientId }),
  }),
];

const refusingGate = async () => {
  throw new ApiError("terms_not_accepted", "The terms are not accepted", { extra: { current_version: "1" } });
};

/** Sends `size` bytes in chunks, without declaring a length. */
function sendChunked(address: string, headers: Record<string, string>, size: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request(address, {
      method: "POST",
      headers: { ...headers, "transfer-encoding": "chunked" },
    });
    outgoing.on("response", (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    outgoing.on("error", reject);
    const chunk = Buffer.alloc(MIB, " ");
    for (let sent = 0; sent < size; sent += MIB)
      outgoing.write(chunk.subarray(0, Math.min(MIB, size - sent)));
    outgoing.end();
  });
}

t.test("each check rejects a request before the next check runs", async (t) => {
  const api = await startApi(t, {
    routes,
    gates: { terms: refusingGate },
    settings: { RATE_LIMIT_PER_MINUTE: "6" },
  });
  const key = await callerHeaders(api.db);
  const scopes = new Set(["marketing:manage"] as const);
  const console = { type: "user", id: "usr_1", name: "Ann" } as const;
  const viewer = await callerHeaders(api.db, { credential: console, role: "viewer" });
  const member = await callerHeaders(api.db, { credential: console, role: "member", scopes });
  const owner = await callerHeaders(api.db, { credential: console, role: "owner", scopes });
  const post = (headers: Record<string, string>, raw: string | Buffer = "not json") =>
    api.call("POST", "/guarded/not-a-number", { headers, raw });

  t.test("the body size is checked before the credential", async (t) => {
    t.equal((await post({}, Buffer.alloc(10 * MIB + 1, " "))).body.error, "payload_too_large");
    t.equal((await post({}, Buffer.alloc(10 * MIB, " "))).body.error, "unauthorized");
    t.equal(await sendChunked(`${api.address}/guarded/1`, {}, 10 * MIB + 1), 413);
    t.equal(await sendChunked(`${api.address}/guarded/1`, {}, 10 * MIB), 401);
    t.equal(await sendChunked(`${api.address}/guarded/1`, owner, 10 * MIB + 1), 413);
  });

  t.test("a missing credential, an invalid one and two credentials are rejected", async (t) => {
    const none = await post({});
    t.equal(none.status, 401);
    t.equal(
      none.headers.get("www-authenticate"),
      'Bearer realm="herald", ApiKey realm="herald", header="x-svc-api-key", Test',
    );
    t.equal((await post({ authorization: "Bearer wrong" })).body.error, "unauthorized");
    t.equal((await post({ "x-test-caller": "wrong" })).body.error, "unauthorized");
    const both = await post({ ...owner, authorization: "Bearer x" });
    t.equal(both.status, 400);
    t.equal(both.body.error, "ambiguous_credentials");
  });

  t.test("the rate limit is checked before the caller's permissions", async (t) => {
    const greedy = await callerHeaders(api.db);
    for (let count = 1; count <= 6; count++) t.equal((await post(greedy)).body.error, "console_only");
    t.equal((await post(greedy)).body.error, "rate_limited");
  });

  t.test("console-only is checked first, then scope, role and gate", async (t) => {
    t.equal((await post(key)).body.error, "console_only");
    const scope = await post(viewer);
    t.equal(scope.status, 403);
    t.match(scope.body, { error: "insufficient_scope", required_scope: "marketing:manage" });
    t.equal((await post(member)).body.error, "role_insufficient");
    t.match((await post(owner)).body, { error: "terms_not_accepted", current_version: "1" });
  });

  t.test(
    "one of several scopes is sufficient, and the first is named when the caller has none",
    async (t) => {
      const sender = await callerHeaders(api.db, { scopes: new Set(["messages:send"] as const) });
      t.equal((await api.call("GET", "/either", { headers: sender })).status, 200);
      t.equal((await api.call("GET", "/either", { headers: key })).body.required_scope, "templates:manage");
      t.equal((await api.call("GET", "/any-credential", { headers: key })).status, 200);
    },
  );
});

t.test("the content is checked after the gate, and then the handler runs", async (t) => {
  const api = await startApi(t, { routes, gates: { terms: async () => {} } });
  const credential = { type: "user", id: "usr_1", name: "Ann" } as const;
  const headers = await callerHeaders(api.db, {
    credential,
    role: "owner",
    scopes: new Set(["marketing:manage"] as const),
  });
  t.match(
    (await api.call("POST", "/guarded/x", { headers, raw: "not json" })).body.message,
    /^id must match/,
  );
  t.match(
    (await api.call("POST", "/guarded/1", { headers, raw: "not json" })).body.message,
    /not valid JSON/,
  );
  t.same((await api.call("POST", "/guarded/1", { headers, json: { name: "x" } })).body, { ok: true });
});
