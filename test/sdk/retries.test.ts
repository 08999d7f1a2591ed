import { execFile } from "node:child_process";
import { getEventListeners } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { inspect, promisify } from "node:util";
import {
  type AttemptResult,
  ConnectionError,
  Herald,
  HeraldError,
  type HeraldOptions,
  WaitTimeoutError,
} from "@herald/sdk";
import t, { type Test } from "tap";
import { denoProgram } from "../../src/local/cluster.ts";
import { packageRoot } from "../../src/runtime/package-root.ts";

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

const API_KEY = "svc_test_01jc8m4t7v2x5k9w3r6y1b0nqd_secret";
const MESSAGE = { channel_id: "ch_1", to: "5511988887777", type: "text", text: { body: "Hello" } } as const;

const succeed: Answer = (response) => response.setHeader("content-type", "application/json").end("{}");

const refuse =
  (status: number, code?: string): Answer =>
  (response) => {
    response.writeHead(status, { "retry-after": "0" });
    const body = { error: code, message: "no", request_id: "req_1" };
    response.end(code === undefined ? "<h1>not Herald</h1>" : JSON.stringify(body));
  };

const breakConnection: Answer = (_response, request) => request.socket.destroy();
const stayAway: Answer = () => {};

/** A service that gives the first answers in turn and then succeeds. */
async function startService(t: Test, answers: readonly Answer[]) {
  const keys: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    const answer = answers[keys.length] ?? succeed;
    keys.push(request.headers["idempotency-key"] as string | undefined);
    request.resume().once("end", () => answer(response, request));
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  await listen(0);
  const { port } = server.address() as { port: number };
  t.teardown(() => server.closeAllConnections());
  t.teardown(() => void server.close());
  const clientOf = (options: Partial<HeraldOptions> = {}) =>
    new Herald({ baseUrl: `http://127.0.0.1:${port}`, apiKey: API_KEY, ...options });
  /** The Idempotency-Keys of the requests, in their order. */
  return { keys, clientOf, server, listen: () => listen(port) };
}

/** A request of each column of the table. */
const REQUESTS = [
  [
    (herald: Herald) => herald.messages.get("msg_1"),
    (herald: Herald) => herald.templates.list({ channel_id: "ch_1" }).page(),
  ],
  [(herald: Herald) => herald.messages.send(MESSAGE)],
  [(herald: Herald) => herald.webhooks.updateConfig({ webhook_url: "" })],
] as const;

/** How each failure of the table is produced. */
const FAILURES: Readonly<Record<string, readonly Answer[]>> = {
  "the connection broke, or the attempt took longer than `timeoutMs`": [breakConnection, stayAway],
  "408": [refuse(408, "request_timeout")],
  "409 `idempotency_in_progress`": [refuse(409, "idempotency_in_progress")],
  "429": [refuse(429, "rate_limited"), refuse(429)],
  "502": [refuse(502, "platform_unavailable"), refuse(502)],
  "503 of Herald": [refuse(503, "overloaded"), refuse(503, "temporarily_unavailable")],
  "503 of a proxy": [refuse(503)],
  "504, also `outcome_unknown` and `platform_timeout`": [
    refuse(504, "outcome_unknown"),
    refuse(504, "platform_timeout"),
    refuse(504),
  ],
  "any other answer": [
    refuse(400, "validation_failed"),
    refuse(401, "unauthorized"),
    refuse(409, "channel_disconnected"),
    refuse(422, "idempotency_key_reused"),
    refuse(500, "internal_error"),
    refuse(302),
  ],
};

const NOT_OPENED = "the connection was never opened";

/** The rows of the guide's table: a failure, and for each column whether the request is repeated. */
function readTable(): Map<string, boolean[]> {
  const guide = readFileSync(join(packageRoot(), "docs/guides/sdk.md"), "utf8");
  const [, table = ""] = guide.split("<!-- retries");
  const rows = table.split("\n\n")[0]?.split("\n").slice(3) ?? [];
  return new Map(
    rows.map((row) => {
      const [failure = "", ...cells] = row
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim());
      return [failure, cells.map((cell) => cell === "repeated")];
    }),
  );
}

const table = readTable();

t.test("the guide's table of retries has a row for each failure", async (t) => {
  t.same([...table.keys()].sort(), [NOT_OPENED, ...Object.keys(FAILURES)].sort());
});

for (const [failure, answers] of Object.entries(FAILURES))
  t.test(
    `after "${failure}" the requests of the guide's table are repeated, with the same key`,
    async (t) => {
      const cells = REQUESTS.flatMap((requests, column) => requests.map((request) => ({ request, column })));
      const trials = cells.flatMap((cell) => answers.map((answer) => ({ ...cell, answer })));
      await Promise.all(
        trials.map(async ({ request, column, answer }) => {
          const isRepeated = table.get(failure)?.[column] === true;
          const { keys, clientOf } = await startService(t, [answer]);
          const isTimeout = answer === stayAway;
          const timeoutMs = isTimeout ? 1_000 : 60_000;
          const result = await request(clientOf({ timeoutMs })).catch((error: unknown) => error);
          t.equal(result instanceof HeraldError, !isRepeated, inspect(result));
          if (result instanceof HeraldError) t.equal(result.retryable, false);
          // On a busy machine the second attempt may take too long too.
          const requests = isTimeout ? Math.min(keys.length, 2) : keys.length;
          t.equal(requests, isRepeated ? 2 : 1, `requests of column ${column + 1}`);
          t.same(keys, Array(keys.length).fill(column === 1 ? keys[0] : undefined));
          t.equal(keys[0] !== undefined, column === 1, "only an operation that honours a key has one");
        }),
      );
    },
  );

t.test(`when "${NOT_OPENED}", the requests of the guide's table are repeated`, async (t) => {
  for (const [column, requests] of REQUESTS.entries()) {
    t.equal(table.get(NOT_OPENED)?.[column], true);
    const { keys, clientOf, server, listen } = await startService(t, []);
    await new Promise((resolve) => server.close(resolve));
    const failed: unknown[] = [];
    const onResponse = ({ error }: AttemptResult) => {
      if (failed.length === 0) listen();
      if (error) failed.push(error.code);
    };
    await requests[0](clientOf({ onResponse, maxRetries: 20 }));
    t.equal(failed[0], "connection_failed");
    t.equal(keys.length, 1);
  }
});

/** An error of fetch on Node.js, which has the reason as its cause. */
const fetchError = (fields: object): Error =>
  new TypeError("fetch failed", { cause: Object.assign(new Error(), fields) });

t.test("a connection counts as never opened only when it failed before the request was sent", async (t) => {
  const connect = Object.assign(new Error(), { code: "ETIMEDOUT", syscall: "connect" });
  const errors: [boolean, Error][] = [
    [true, fetchError({ code: "ECONNREFUSED", syscall: "connect" })],
    [true, fetchError({ code: "EAI_AGAIN", syscall: "getaddrinfo" })],
    [true, fetchError({ code: "UND_ERR_CONNECT_TIMEOUT" })],
    [true, new TypeError("fetch failed", { cause: new AggregateError([connect, connect]) })],
    [true, new TypeError("error sending request: client error (Connect): dns error")],
    [false, fetchError({ code: "EHOSTUNREACH", syscall: "read" })],
    [false, fetchError({ code: "ECONNREFUSED", syscall: "write" })],
    [false, fetchError({ code: "ECONNRESET" })],
    [false, new TypeError("fetch failed", { cause: new AggregateError([connect, new Error()]) })],
    [false, new TypeError("error sending request: client error (SendRequest): connection closed")],
  ];
  for (const [isRepeated, error] of errors) {
    const outcomes = [() => Promise.reject(error), async () => Response.json({})];
    const fetch = async () => outcomes.shift()?.() ?? Response.error();
    await new Herald({ baseUrl: "http://herald.example", fetch }).keys.rotate("key_1").catch(() => {});
    t.equal(outcomes.length, isRepeated ? 0 : 1, inspect(error));
  }
});

t.test("a request is repeated until it succeeds, at most maxRetries times", async (t) => {
  const failing = [refuse(503, "overloaded"), refuse(502), breakConnection, refuse(504, "outcome_unknown")];
  const patient = await startService(t, failing);
  await patient.clientOf({ maxRetries: 4 }).messages.send(MESSAGE, { idempotencyKey: "order-1" });
  t.same(patient.keys, Array(5).fill("order-1"));

  const impatient = await startService(t, failing);
  const error = await impatient
    .clientOf({ maxRetries: 5 })
    .messages.get("msg_1", { maxRetries: 1 })
    .catch((error) => error);
  t.equal(error.status, 502);
  t.equal(error.retryable, true);
  t.equal(impatient.keys.length, 2);
});

t.test("an error names the key with which the request can be repeated later", async (t) => {
  const { keys, clientOf } = await startService(t, Array(2).fill(refuse(504, "outcome_unknown")));
  const herald = clientOf({ maxRetries: 0 });
  const error: HeraldError = await herald.messages.send(MESSAGE).catch((error) => error);
  t.equal(error.name, "OutcomeUnknownError");
  await herald.messages.send(MESSAGE).catch(() => {});
  await herald.messages.send(MESSAGE, { idempotencyKey: error.idempotencyKey });
  t.equal(keys[2], keys[0]);
  t.not(keys[1], keys[0], "each call has a key of its own");
});

t.test("a Retry-After of more than a minute is left to the caller", async (t) => {
  const { keys, clientOf } = await startService(t, [
    (response) => response.writeHead(429, { "retry-after": "61" }).end(),
  ]);
  const error = await clientOf()
    .messages.get("msg_1")
    .catch((error) => error);
  t.equal(error.retryAfterMs, 61_000);
  t.equal(keys.length, 1);
});

t.test("a signal ends the attempt and the wait before the next", async (t) => {
  const reason = new Error("stopped");
  const during = await startService(t, [stayAway]);
  const controller = new AbortController();
  const attempt = during.clientOf({ onRequest: () => setImmediate(() => controller.abort(reason)) });
  await t.rejects(attempt.messages.get("msg_1", { signal: controller.signal }), reason);

  const between = await startService(t, [
    (response) => response.writeHead(503, { "retry-after": "50" }).end(),
  ]);
  const second = new AbortController();
  const waiting = between.clientOf({ onResponse: () => setImmediate(() => second.abort(reason)) });
  await t.rejects(waiting.messages.get("msg_1", { signal: second.signal }), reason);
  t.equal(between.keys.length, 1);
  await t.rejects(
    waiting.messages.get("msg_1", { signal: second.signal }),
    reason,
    "an aborted signal sends nothing",
  );
  t.equal(between.keys.length, 1);
});

t.test("a signal that lives on keeps nothing of the requests that are over", async (t) => {
  const { signal } = new AbortController();
  const { clientOf } = await startService(t, [
    breakConnection,
    refuse(404, "not_found"),
    refuse(404, "not_found"),
  ]);
  const herald = clientOf();
  await herald.messages.get("msg_1", { signal }).catch(() => {});
  const download = () => herald.channels.downloadMedia("ch_1", "media_1", { signal });
  await t.rejects(download());
  t.equal(await (await download()).text(), "{}");
  await (await download()).body?.cancel();
  t.same(getEventListeners(signal, "abort"), []);
});

t.test("a signal ends the download of a file", async (t) => {
  const { clientOf } = await startService(t, [(response) => response.write("the first part")]);
  const controller = new AbortController();
  const { body } = await clientOf().channels.downloadMedia("ch_1", "media_1", controller);
  const reader = body?.getReader();
  t.equal((await reader?.read())?.value?.length, "the first part".length);
  const reason = new Error("stopped");
  controller.abort(reason);
  await t.rejects(Promise.resolve(reader?.read()), reason);
  t.same(getEventListeners(controller.signal, "abort"), []);
});

t.test("a wait ends in time though no answer comes, and an endless time limit is possible", async (t) => {
  const { keys, clientOf } = await startService(t, [stayAway]);
  await t.rejects(clientOf().messages.waitUntil("msg_1", "sent", { timeoutMs: 10 }), WaitTimeoutError);
  t.ok(keys.length <= 1);
  const answering = await startService(t, []);
  await answering.clientOf().messages.get("msg_1", { timeoutMs: Number.POSITIVE_INFINITY, maxRetries: 0 });
});

t.test("the credential goes to no other address and into no error", async (t) => {
  const other = await startService(t, []);
  const { port } = other.server.address() as { port: number };
  const { clientOf } = await startService(t, [
    (response) => response.writeHead(307, { location: `http://127.0.0.1:${port}/api` }).end(),
    refuse(200),
  ]);
  const results: unknown[] = [];
  const herald = clientOf({
    onRequest: (info) => results.push(info),
    onResponse: (info) => results.push(info),
  });
  results.push(await herald.messages.send(MESSAGE).catch((error) => error));
  t.equal(other.keys.length, 0, "a redirect is not followed");
  results.push(await herald.messages.get("msg_1").catch((error) => error));
  results.push(herald, herald.messages.list());
  t.match(results.at(-3), { code: "unexpected_response" });
  for (const wrong of [
    { apiKey: `${API_KEY}\n` },
    { apiKey: API_KEY, userToken: API_KEY },
    { userToken: `${API_KEY} é`, apiKey: undefined },
  ])
    try {
      results.push(await clientOf(wrong as object).messages.get("msg_1"));
    } catch (error) {
      t.ok(error instanceof TypeError);
      results.push(error);
    }
  t.notMatch(inspect(results, { depth: 20, showHidden: true }), API_KEY);
  t.throws(() => clientOf({ baseUrl: `https://user:${API_KEY}@herald.example.com` }), /^(?!.*svc_test)/);
});

t.test("an id cannot name another path", async (t) => {
  const { keys, clientOf } = await startService(t, []);
  for (const id of ["", ".", "..", undefined])
    t.throws(() => clientOf().messages.get(id as string), TypeError);
  t.equal(keys.length, 0);
  await clientOf().messages.get("../../keys?x=1#y");
  t.equal(keys.length, 1);
});

const answerWith =
  (status: number, text: string): Answer =>
  (response) =>
    response.writeHead(status).end(text);

t.test(
  "an answer of something else than Herald is no success, and the error does not quote it",
  async (t) => {
    const requests: [string, (herald: Herald) => Promise<unknown>][] = [
      ["", (herald) => herald.messages.get("msg_1")],
      ['{"key":"svc_live_1"', (herald) => herald.keys.rotate("key_1")],
      ["svc_live_1", (herald) => herald.campaigns.validate({} as never)],
      ["<h1>svc_live_1</h1>", (herald) => herald.channels.disconnect("ch_1")],
      ["svc_live_1", (herald) => herald.messages.send(MESSAGE, { idempotencyKey: "order-1" })],
    ];
    for (const [text, request] of requests) {
      const { clientOf } = await startService(t, [answerWith(200, text)]);
      const error = (await request(clientOf()).catch((error) => error)) as HeraldError;
      t.match(error, { code: "unexpected_response", status: 200 });
      t.equal(error.idempotencyKey, error.operation === "sendMessage" ? "order-1" : undefined);
      t.notMatch(inspect(error, { showHidden: true }), "svc_live_1");
    }
    const body = { error: "constructor", message: "no", request_id: "req_1" };
    const { clientOf } = await startService(t, [answerWith(418, JSON.stringify(body))]);
    await t.rejects(clientOf().messages.get("msg_1"), HeraldError, "a code may have the name of a property");
  },
);

const breakOff: Answer = (response) => {
  response.writeHead(200, { "content-length": "100" });
  response.write('{"message_id":', () => response.destroy());
};

t.test("an answer that breaks off is not taken for a success", async (t) => {
  const { clientOf, keys } = await startService(t, [breakOff]);
  await clientOf().messages.get("msg_1");
  t.equal(keys.length, 2);
  const single = await startService(t, [breakOff]);
  await t.rejects(single.clientOf().webhooks.updateConfig({ webhook_url: "" }), ConnectionError);
  t.equal(single.keys.length, 1);
});

/** A read leaves a connection open; each of the others goes over a connection that is used again, and breaks it. */
const requestsOnDeno = (port: number) => `
import { Herald } from "@herald/sdk";
const herald = new Herald({ baseUrl: "http://127.0.0.1:${port}", maxRetries: 0 });
const errors = [];
for (const request of [
  () => herald.webhooks.updateConfig({ webhook_url: "" }),
  () => herald.keys.rotate("key_1"),
  () => herald.channels.uploadMedia("ch_1", new Uint8Array(3), { contentType: "image/png" }),
]) {
  await herald.messages.get("msg_1");
  errors.push(await request().catch((error) => error.name));
}
console.log(errors.join());
`;

t.test(
  "a request that may not be repeated is sent once on Deno, whose fetch repeats texts and bytes",
  async (t) => {
    const { keys, server } = await startService(t, [
      succeed,
      breakConnection,
      succeed,
      breakConnection,
      succeed,
      breakConnection,
    ]);
    const { port } = server.address() as { port: number };
    const root = packageRoot();
    const run = promisify(execFile)(
      denoProgram(root),
      ["eval", "--node-modules-dir=manual", requestsOnDeno(port)],
      { cwd: root },
    );
    t.equal((await run).stdout.trim(), "ConnectionError,ConnectionError,ConnectionError");
    t.equal(keys.length, 6);
  },
);

t.test("an error of another service has the class of its status only for 429 and 5xx", async (t) => {
  const { clientOf } = await startService(t, [refuse(404), refuse(401), refuse(503)]);
  const names: string[] = [];
  for (let count = 0; count < 3; count++)
    await clientOf({ maxRetries: 0 })
      .messages.get("msg_1")
      .catch(({ name }: HeraldError) => names.push(name));
  t.same(names, ["HeraldError", "HeraldError", "UnavailableError"]);
});
