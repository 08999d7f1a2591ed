import { request } from "node:http";
import t, { type Test } from "tap";
import { ApiError } from "../../src/http/api-error.ts";
import { describeApi } from "../../src/http/openapi/describe-api.ts";
import { type Route, route } from "../../src/http/route.ts";
import { object, Type } from "../../src/schema/types.ts";
import { findIdempotencyKey, insertIdempotencyKey } from "../../src/store/tenants/idempotency-keys.ts";
import { type Api, callerHeaders, startApi } from "../fixtures/http/api.ts";
import type { Reply } from "../fixtures/http/replies.ts";
import { until } from "../fixtures/until.ts";

const body = object({
  n: Type.Optional(Type.Unknown({ examples: [1] })),
  fail: Type.Optional(Type.Boolean()),
  slow: Type.Optional(Type.Boolean()),
});
const reply = object({ id: Type.Integer() });

interface Work {
  /** Number of handlers that have started. */
  startedCount: number;
  /** Every handler waits for it, a slow one before it looks for a stored reply. */
  barrier: Promise<void>;
  /** How many handlers fail next, whatever their body. */
  failures: number;
}

/** Creates things with consecutive ids. */
function createThingRoute(path: string, work: Work): Route {
  let lastId = 0;
  return route({
    method: "post",
    path,
    operationId: `create${path.replace("/", "_")}`,
    scope: "any_credential",
    idempotent: "idempotency_keys",
    summary: "Create a thing",
    errors: ["channel_taken"],
    body,
    status: 201,
    reply,
    location: ({ id }) => `/things/${id}`,
    async handle({ body, operation, db, caller: { clientId } }) {
      if (body.slow) {
        work.startedCount += 1;
        await work.barrier;
      }
      const known = operation && (await findIdempotencyKey(db, clientId, operation.id));
      if (known) return operation.replay(known);
      work.startedCount += 1;
      await work.barrier;
      if (body.fail || work.failures-- > 0) throw new ApiError("channel_taken", "Rejected");
      lastId += 1;
      const thing = { id: lastId };
      const { id, fingerprint } = operation ?? {};
      if (id && fingerprint)
        await insertIdempotencyKey(db, clientId, {
          id,
          fingerprint,
          reply_sealed: operation?.seal(thing) ?? "",
        });
      return thing;
    },
  });
}

async function start(t: Test) {
  const work: Work = { startedCount: 0, barrier: Promise.resolve(), failures: 0 };
  const plain = route({
    method: "post",
    path: "/plain",
    operationId: "ignoreKey",
    scope: "any_credential",
    summary: "Ignore the key",
    body,
    reply,
    handle: ({ operation }) => ({ id: operation ? 1 : 0 }),
  });
  const routes = () => [createThingRoute("/things", work), createThingRoute("/others", work), plain];
  const api = await startApi(t, { routes });
  const headers = await callerHeaders(api.db);
  return { api, work, headers, post: createPost(api, headers) };
}

const createPost =
  (api: Api, headers: Record<string, string>) =>
  (key: string | undefined, json: unknown = {}, path = "/things") =>
    api.call("POST", path, {
      headers: { ...headers, ...(key === undefined ? {} : { "idempotency-key": key }) },
      json,
    });

/** Repeats a request that was told that another one with its key is still running, as on a slow machine. */
async function untilFinished(post: () => Promise<Reply>): Promise<Reply> {
  return until("the request is not in progress", async () => {
    const reply = await post();
    return reply.body.error === "idempotency_in_progress" ? undefined : reply;
  });
}

const isReplay = ({ headers }: { headers: Headers }) => headers.get("idempotent-replay");

/** Blocks the handlers until the returned function is called. */
function blockWork(work: Work): () => void {
  let release = () => {};
  work.barrier = new Promise((resolve) => {
    release = resolve;
  });
  return () => release();
}

t.test("idempotency keys", async (t) => {
  const { api, work, headers, post } = await start(t);

  t.test("a repeated request gets the first response with its headers", async (t) => {
    const first = await post("once", { n: [1, { a: "é", b: null }] });
    t.equal(first.status, 201);
    t.equal(isReplay(first), null);
    const again = await post("once", { n: [1, { b: null, a: "é" }] });
    t.equal(again.status, 201);
    t.equal(again.text, first.text);
    t.equal(again.headers.get("location"), first.headers.get("location"));
    t.equal(again.headers.get("content-type"), first.headers.get("content-type"));
    t.equal(isReplay(again), "true");
    t.not(again.headers.get("x-request-id"), first.headers.get("x-request-id"));
  });

  t.test("bodies with equal values match regardless of their formatting", async (t) => {
    const raw = (text: string) =>
      api.call("POST", "/things", { headers: { ...headers, "idempotency-key": "equal" }, raw: text });
    t.equal((await raw('{"n":{"a":1,"b":[1,2]},"fail":false}')).status, 201);
    t.equal(isReplay(await raw(' { "fail" : false, "n": {"b":[1.0,2e0],"a":1} }')), "true");
    for (const other of [
      '{"n":{"a":1,"b":[2,1]},"fail":false}',
      '{"n":{"a":1,"b":[1,2]}}',
      '{"n":{"a":"1","b":[1,2]},"fail":false}',
    ]) {
      const refused = await raw(other);
      t.equal(refused.status, 422, other);
      t.equal(refused.body.error, "idempotency_key_reused");
      t.equal(isReplay(refused), null);
    }
    t.equal(
      isReplay(await raw('{"n":{"a":1,"b":[1,2]},"fail":false}')),
      "true",
      "the stored reply is unchanged",
    );
  });

  t.test("a key belongs to one client and one route, and is case-sensitive", async (t) => {
    const first = await post("Mine");
    const otherCaller = createPost(api, await callerHeaders(api.db));
    for (const [what, other] of [
      ["another client", await otherCaller("Mine")],
      ["another route", await post("Mine", {}, "/others")],
      ["another key", await post("mine")],
    ] as const) {
      t.equal(other.status, 201, what);
      t.equal(isReplay(other), null, what);
    }
    t.equal(isReplay(await post("Mine")), "true");
    t.equal((await post("Mine")).text, first.text);
  });

  t.test("requests without a key are handled each time", async (t) => {
    const [first, second] = [await post(undefined), await post(undefined)];
    t.not(first.text, second.text);
    t.equal((await post("any", {}, "/plain")).body.id, 0, "a route that accepts no key ignores it");
    t.equal((await post("\t", {}, "/plain")).status, 200);
  });

  t.test("only a success is stored, so an error can be retried with the same key", async (t) => {
    t.equal((await post("failing", { fail: true })).status, 409);
    t.equal((await post("failing", { fail: true })).body.error, "channel_taken");
    const first = await post("failing");
    t.equal(first.status, 201);
    t.equal(isReplay(first), null);
    t.equal((await post("failing", { fail: true })).status, 422);
  });

  t.test("fifty concurrent requests with one key run once and get the same response", async (t) => {
    const release = blockWork(work);
    const before = work.startedCount;
    const requests = Array.from({ length: 50 }, () => untilFinished(() => post("fifty")));
    await until("one request has started", () => work.startedCount > before);
    const another = untilFinished(() => post("fifty", { n: 1 }));
    release();
    const replies = await Promise.all(requests);
    t.equal(new Set(replies.map(({ text }) => text)).size, 1);
    t.equal(replies.filter((reply) => isReplay(reply) === "true").length, 49);
    t.ok(replies.every(({ status }) => status === 201));
    t.equal(new Set(replies.map(({ headers }) => headers.get("location"))).size, 1);
    t.equal((await another).status, 422);
    t.equal(work.startedCount, before + 1);
  });

  t.test("the next waiting request runs after the first one fails", async (t) => {
    const release = blockWork(work);
    work.failures = 1;
    const before = work.startedCount;
    const failing = post("retried");
    await until("the first request has started", () => work.startedCount > before);
    const others = [1, 2, 3].map(() => untilFinished(() => post("retried")));
    t.equal(work.startedCount, before + 1);
    release();
    t.equal((await failing).status, 409);
    const replies = await Promise.all(others);
    t.equal(new Set(replies.map(({ text }) => text)).size, 1);
    t.ok(replies.every(({ status }) => status === 201));
  });

  t.test("another body is refused while the first request runs", async (t) => {
    const release = blockWork(work);
    const before = work.startedCount;
    const first = post("running");
    await until("the first request has started", () => work.startedCount > before);
    const reply = await post("running", { n: 1 });
    t.match([reply.status, reply.body.error], [422, "idempotency_key_reused"]);
    release();
    t.equal((await first).status, 201);
  });

  t.test("a repetition is replayed while a request with another body runs", async (t) => {
    const first = await post("stored");
    const release = blockWork(work);
    const before = work.startedCount;
    const different = post("stored", { slow: true });
    await until("the request with another body has started", () => work.startedCount > before);
    const again = untilFinished(() => post("stored"));
    t.equal((await post("stored", { n: 1 })).status, 422);
    release();
    t.equal((await different).status, 422);
    t.equal((await again).text, first.text);
  });

  t.test("a key has 1 to 255 visible ASCII characters", async (t) => {
    for (const key of ["k", "x".repeat(255), '!"#$%&()*+,-./:;<=>?@[]^_`{|}~'])
      t.equal((await post(key)).status, 201, key);
    for (const key of ["", "x".repeat(256), "a b", "é", "a\tb"]) {
      const { status, body } = await post(key);
      t.equal(status, 400, key);
      t.match(body, { error: "validation_failed", details: [{ path: "/Idempotency-Key" }] }, key);
    }
  });

  t.test("the header name is case-insensitive and may occur only once", async (t) => {
    /** Uses node:http because fetch sends every header name in lower case. */
    const send = (lines: string[]) =>
      new Promise<{ status: number; replay: unknown }>((resolve, reject) => {
        const outgoing = request(`${api.address}/things`, { method: "POST" });
        for (const [name, value] of Object.entries(headers)) outgoing.setHeader(name, value);
        outgoing.setHeader("IDEMPOTENCY-Key", lines);
        outgoing.on("response", (response) => {
          response.resume();
          resolve({ status: response.statusCode ?? 0, replay: response.headers["idempotent-replay"] });
        });
        outgoing.on("error", reject).end();
      });
    t.same(await send(["spelt"]), { status: 201, replay: undefined });
    t.same(await send(["spelt"]), { status: 201, replay: "true" });
    t.equal((await send(["spelt", "spelt"])).status, 400);
  });

  t.test("the key is checked before the body, and the body before the stored reply", async (t) => {
    const bad = { headers: { ...headers, "idempotency-key": "a b" }, raw: "not json" };
    t.match((await api.call("POST", "/things", bad)).body.message, /Idempotency-Key/);
    t.equal((await post("checked")).status, 201);
    t.equal((await post("checked", { color: 1 })).status, 400);
    const otherCaller = { headers: { "idempotency-key": "a b" } };
    t.equal((await api.call("POST", "/things", otherCaller)).status, 401);
  });
});

t.test("the documentation describes the key of an idempotent route", async (t) => {
  const work: Work = { startedCount: 0, barrier: Promise.resolve(), failures: 0 };
  const document = describeApi([{ ...createThingRoute("/things", work), tag: "Service" }], {
    publicUrl: "https://x.example",
  });
  // biome-ignore lint/suspicious/noExplicitAny: the test knows the document's structure
  const operation = document.paths["/things"]?.post as any;
  t.match(operation.parameters, [{ name: "Idempotency-Key", in: "header", required: false }]);
  for (const status of ["201", "409", "422"]) t.ok(status in operation.responses, status);
  t.match(operation.responses["201"].headers, { Location: {}, "Idempotent-Replay": {} });
  const { responses } = document.components as { responses: Record<string, { headers: object }> };
  t.ok("Retry-After" in (responses.IdempotencyInProgressOrChannelTaken?.headers ?? {}));
});
