import { Webhook } from "standardwebhooks";
import t, { type Test } from "tap";
import { DAY, HOUR, MINUTE, SECOND } from "../../src/runtime/durations.ts";
import { JsonText } from "../../src/runtime/json/json.ts";
import { generateWebhookToken } from "../../src/security/sealed-tokens.ts";
import {
  answerWith,
  type ClientBackend,
  type ReceivedEvent,
  startClientBackend,
} from "../fixtures/events/client-backend.ts";
import { makeDeliveriesDue, queueEvent, untilDelivery } from "../fixtures/events/deliveries.ts";
import { configureWebhook, RECEIVED_TEXT, readAttempts, updateDelivery } from "../fixtures/events/events.ts";
import { startApi } from "../fixtures/http/api.ts";
import { startDispatcher } from "../fixtures/processes/dispatcher.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";
import { until } from "../fixtures/until.ts";

/** Excerpts that Postgres rejects, by the path of the request. */
const UNSTORABLE_EXCERPTS: Record<string, string> = { nul: "a\u0000b", surrogate: "a\ud800b" };

const dispatcher = await startDispatcher(t, {
  poster: (real) => ({
    ...real,
    async post(post, control) {
      const posted = await real.post(post, control);
      const excerpt = UNSTORABLE_EXCERPTS[post.url.split("/")[3] as string];
      return excerpt ? { ...posted, excerpt } : posted;
    },
  }),
});
const api = await startApi(t, { config: dispatcher.config });

/** A client with its own backend, and a call to change its settings through the API. */
async function startClient(t: Test) {
  const backend = await startClientBackend(t);
  const client = await makeTenant(dispatcher);
  const { headers } = await client.createKey("webhooks:manage");
  const call = async (method: string, path: string, json?: object) =>
    (await api.call(method, `/api/webhooks/${path}`, { headers, json })).body;
  await call("PATCH", "config", { webhook_url: backend.url });
  return { backend, client, call };
}

type Call = Awaited<ReturnType<typeof startClient>>["call"];

/** True when a receiver with this token accepts the event. */
function isSignedWith(token: string, { raw, headers }: ReceivedEvent, format?: "raw"): boolean {
  try {
    new Webhook(token, format && { format }).verify(raw, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}

/** A client with one event whose first attempt waits for its answer. */
async function startWithOneInFlight(t: Test) {
  const started = await startClient(t);
  const { backend, client } = started;
  backend.pauseAnswers();
  const id = await queueEvent(dispatcher, client, RECEIVED_TEXT);
  await until("the request is open", () => backend.openRequests() === 1);
  /** Fails the attempt and makes the next one due. */
  const failAttempt = async () => {
    backend.answer = answerWith(200);
    backend.release(1, 503);
    await untilDelivery(dispatcher, id, { state: "retrying", attempts: 1 });
    await makeDeliveriesDue(dispatcher, client, id);
  };
  return { ...started, id, failAttempt };
}

const untilReceived = (backend: ClientBackend, id: string) =>
  until("the event arrives", () => backend.received.find((event) => event.id === id));

t.test("a backend verifies events with the standard's library", async (t) => {
  const { backend, client, call } = await startClient(t);
  const receiveNext = async () => untilReceived(backend, await queueEvent(dispatcher, client));
  const generate = async (grace_minutes: number) =>
    (await call("POST", "config/generate-secret", { grace_minutes })).webhook_secret;

  const { headers } = await receiveNext();
  t.notOk("webhook-signature" in headers || "x-webhook-token" in headers, "no token, no signature");

  const generated = await generate(0);
  const first = await receiveNext();
  t.ok(isSignedWith(generated, first));
  t.notOk(isSignedWith(generateWebhookToken(), first));
  t.equal(first.headers["x-webhook-token"], generated);

  const rotated = await generate(10);
  const duringGrace = await receiveNext();
  t.ok(isSignedWith(rotated, duringGrace));
  t.ok(isSignedWith(generated, duringGrace), "the former token too during the grace period");
  const [one, two] = String(duringGrace.headers["webhook-signature"]).split(" ");
  const withSignature = (signature?: string): ReceivedEvent => ({
    ...duringGrace,
    headers: { ...duringGrace.headers, "webhook-signature": signature as string },
  });
  t.ok(isSignedWith(rotated, withSignature(one)), "the new token's signature first");
  t.ok(isSignedWith(generated, withSignature(two)));
  t.equal(duringGrace.headers["x-webhook-token"], rotated);

  const ownToken = "a-token-of-the-client's-own";
  await call("PATCH", "config", { webhook_secret: ownToken });
  const last = await receiveNext();
  t.ok(isSignedWith(ownToken, last, "raw"));
  t.notOk(isSignedWith(rotated, last));
  t.equal(last.headers["x-webhook-token"], ownToken);
});

t.test("a retry has the same id and body and the next attempt number", async (t) => {
  const { backend, client } = await startClient(t);
  backend.answer = answerWith(503);
  const data = new JsonText('{"n": 12345678901234567890, "text":"ü\\u0000\\ud800"}');
  const id = await queueEvent(dispatcher, client, { data });
  await untilDelivery(dispatcher, id, { state: "retrying", attempts: 1 });
  backend.answer = answerWith(200);
  await makeDeliveriesDue(dispatcher, client, id);
  await untilDelivery(dispatcher, id, { state: "delivered", attempts: 2, last_status_code: 200 });
  const [first, second] = backend.received as [ReceivedEvent, ReceivedEvent];
  t.equal(backend.received.length, 2);
  t.ok(first.raw.includes(data.text));
  t.equal(second.raw, first.raw);
  t.same([first.id, second.id], [id, id]);
  t.same(
    [first, second].map(({ headers }) => headers["x-webhook-attempt"]),
    ["1", "2"],
  );
});

const SKIP_CASES: [what: string, change: (call: Call) => Promise<unknown>, reason: string][] = [
  ["disabled", (call) => call("PATCH", "dispatch/chatapp", { enabled: false }), "disabled"],
  ["without a webhook_url", (call) => call("PATCH", "config", { webhook_url: "" }), "not_configured"],
];

for (const [what, change, skip_reason] of SKIP_CASES)
  t.test(`an event that is ${what} after an attempt began is not retried`, async (t) => {
    const { backend, call, id, failAttempt } = await startWithOneInFlight(t);
    await change(call);
    await failAttempt();
    await untilDelivery(dispatcher, id, {
      state: "skipped",
      skip_reason,
      attempts: 1,
      next_attempt_at: null,
    });
    t.match(await call("GET", `events/${id}`), { status: "skipped", skip_reason, attempts: 1 });
    t.equal(backend.received.length, 1);
  });

t.test("a retry goes to the client's current webhook_url", async (t) => {
  const newBackend = await startClientBackend(t);
  const { backend, call, id, failAttempt } = await startWithOneInFlight(t);
  await call("PATCH", "config", { webhook_url: `${newBackend.url}/new` });
  await failAttempt();
  const url = `${newBackend.url}/new/chat/receiveMessage`;
  await untilDelivery(dispatcher, id, { state: "delivered", attempts: 2, url });
  t.equal(backend.received.length, 1);
  t.match(newBackend.received, [
    { id, path: "/new/chat/receiveMessage", headers: { "x-webhook-attempt": "2" } },
  ]);
});

t.test("a retry carries the current token", async (t) => {
  const { backend, call, id, failAttempt } = await startWithOneInFlight(t);
  const { webhook_secret } = await call("POST", "config/generate-secret");
  await failAttempt();
  await untilDelivery(dispatcher, id, { state: "delivered", attempts: 2 });
  const [first, second] = backend.received as [ReceivedEvent, ReceivedEvent];
  t.notOk("x-webhook-token" in first.headers);
  t.equal(second.headers["x-webhook-token"], webhook_secret);
  t.ok(isSignedWith(webhook_secret, second));
});

/** Milliseconds from the start of the last attempt to the next one. */
async function readRetryDelay(id: string): Promise<number> {
  const [row, attempts] = [await untilDelivery(dispatcher, id, {}), await readAttempts(dispatcher, id)];
  return Number(row.next_attempt_at) - Number(attempts.at(-1)?.at);
}

/** Duration of an attempt on a slow machine; 5 s with it are still less than the next delay of the schedule. */
const SLACK_MS = 15 * SECOND;

const isNear = (delay: number, expected: number) =>
  delay >= 0.8 * expected && delay <= 1.2 * expected + SLACK_MS;

const inTwoHours = () => new Date(Date.now() + 2 * HOUR).toUTCString();

const ANSWER_CASES: [status: number, headers: Record<string, string>, error: string, delay: number | null][] =
  [
    [410, { "retry-after": "60" }, "HTTP 410", null],
    [404, {}, "HTTP 404", 5 * SECOND],
    [302, { location: "http://127.0.0.1:1/" }, "redirect", 5 * SECOND],
    [503, { "retry-after": "3600" }, "HTTP 503", HOUR],
    [503, { "retry-after": inTwoHours() }, "HTTP 503", 2 * HOUR],
    [429, { "retry-after": "999999999" }, "HTTP 429", DAY],
    [503, { "retry-after": "1" }, "HTTP 503", 5 * SECOND],
    [503, { "retry-after": "soon" }, "HTTP 503", 5 * SECOND],
  ];

t.test("an answer outside 2xx decides whether and when the delivery is retried", async (t) => {
  const backend = await startClientBackend(t, (response, { path }) => {
    const [status, headers] = ANSWER_CASES[Number(path.split("/")[1])] as (typeof ANSWER_CASES)[0];
    response.writeHead(status, headers).end();
  });
  for (const [index, [status, headers, last_error, delay]] of ANSWER_CASES.entries()) {
    const client = await makeTenant(dispatcher);
    await configureWebhook(dispatcher, client, { url: `${backend.url}/${index}` });
    const id = await queueEvent(dispatcher, client);
    const state = delay === null ? "failed" : "retrying";
    const row = await untilDelivery(dispatcher, id, { state, attempts: 1, last_error });
    const what = `${status} ${JSON.stringify(headers)}`;
    if (delay === null) t.equal(row.next_attempt_at, null, what);
    else t.ok(isNear(await readRetryDelay(id), delay), `${what}: ${await readRetryDelay(id)} ms`);
  }
});

const RETRY_DELAYS_MS = [
  ...[5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE],
  ...[HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 12 * HOUR, DAY, DAY],
];

t.test("a delivery fails after thirteen attempts, and a redispatch restarts its schedule", async (t) => {
  const { backend, client, call } = await startClient(t);
  backend.answer = answerWith(422);
  const id = await queueEvent(dispatcher, client);
  for (const [index, delay] of RETRY_DELAYS_MS.entries()) {
    await untilDelivery(dispatcher, id, { state: "retrying", attempts: index + 1 });
    t.ok(
      isNear(await readRetryDelay(id), delay),
      `after attempt ${index + 1}: ${await readRetryDelay(id)} ms`,
    );
    await makeDeliveriesDue(dispatcher, client, id);
  }
  await untilDelivery(dispatcher, id, { state: "failed", attempts: 13, next_attempt_at: null });
  t.match(await call("POST", `events/${id}/retry`), { redispatched: true, status: "pending", attempts: 13 });
  await untilDelivery(dispatcher, id, { state: "retrying", attempts: 14 });
  t.ok(isNear(await readRetryDelay(id), 5 * SECOND));
  const numbers = Array.from({ length: 14 }, (_, index) => index + 1);
  t.same(
    backend.received.map(({ headers }) => Number(headers["x-webhook-attempt"])),
    numbers,
  );
  t.same(
    (await readAttempts(dispatcher, id)).map(({ attempt }) => attempt),
    numbers,
  );
});

t.test(
  "a redispatch during the last attempt restarts the schedule only when the attempt fails",
  async (t) => {
    const { backend, client, call } = await startClient(t);
    backend.answer = answerWith(422);
    const id = await queueEvent(dispatcher, client);
    await untilDelivery(dispatcher, id, { state: "retrying", attempts: 1 });
    await updateDelivery(dispatcher, id, { attempts: 12 });
    backend.pauseAnswers();
    await makeDeliveriesDue(dispatcher, client, id);
    await until("the last attempt is open", () => backend.openRequests() === 1);
    t.match(await call("POST", `events/${id}/retry`), { redispatched: true, status: "pending" });
    backend.release(1, 422);
    await untilDelivery(dispatcher, id, { state: "retrying", attempts: 13 });
    t.ok(isNear(await readRetryDelay(id), 5 * SECOND), `${await readRetryDelay(id)} ms`);
    await makeDeliveriesDue(dispatcher, client, id);
    await until("the next attempt is open", () => backend.openRequests() === 1);
    await call("POST", `events/${id}/retry`);
    backend.release();
    await untilDelivery(dispatcher, id, { state: "delivered", attempts: 14 });
    t.equal(backend.received.length, 3, "no attempt follows a success");
  },
);

t.test("an event that cannot be signed fails after five attempts without a request", async (t) => {
  const { backend, client } = await startClient(t);
  await dispatcher.db.query("update webhook_configs set secret_sealed = $2 where client_id = $1", [
    client.id,
    "sealed by an unknown key",
  ]);
  const id = await queueEvent(dispatcher, client);
  for (const attempts of [1, 2, 3, 4]) {
    await untilDelivery(dispatcher, id, { state: "retrying", attempts, last_error: "internal" });
    await makeDeliveriesDue(dispatcher, client, id);
  }
  await untilDelivery(dispatcher, id, { state: "failed", attempts: 5, last_error: "internal" });
  t.equal((await readAttempts(dispatcher, id)).length, 5);
  t.equal(backend.connections(), 0);
  const line = dispatcher.lines.find(({ event_id }) => event_id === id);
  t.match(line, {
    level: "error",
    event: "delivery.attempted",
    outcome: "internal",
    err: String,
    err_stack: String,
  });
});

t.test("an answer that Postgres rejects is omitted and does not block other outcomes", async (t) => {
  const backend = await startClientBackend(t);
  backend.pauseAnswers();
  const ids: string[] = [];
  for (const path of ["nul", "fine", "surrogate", "well"]) {
    const client = await makeTenant(dispatcher);
    await configureWebhook(dispatcher, client, { url: `${backend.url}/${path}` });
    ids.push(await queueEvent(dispatcher, client));
  }
  await until("all requests are open", () => backend.openRequests() === 4);
  backend.release();
  const errors: (string | null | undefined)[] = [];
  for (const id of ids) {
    await untilDelivery(dispatcher, id, { state: "delivered", attempts: 1 });
    errors.push((await readAttempts(dispatcher, id))[0]?.error);
  }
  t.same(errors, ["internal", null, "internal", null]);
});

t.test("each attempt is one log line without token and body", async (t) => {
  const { backend, client, call } = await startClient(t);
  const { webhook_secret } = await call("POST", "config/generate-secret");
  const secrets = ["a body that must stay secret", "an answer that must stay secret", webhook_secret];
  backend.answer = answerWith(503, {}, secrets[1]);
  const id = await queueEvent(dispatcher, client, { data: { text: secrets[0] } });
  await untilDelivery(dispatcher, id, { state: "retrying", attempts: 1 });
  backend.answer = answerWith(204);
  await makeDeliveriesDue(dispatcher, client, id);
  await untilDelivery(dispatcher, id, { state: "delivered", attempts: 2 });
  const lines = dispatcher.lines.filter(({ event_id }) => event_id === id);
  const commonFields = {
    level: "info",
    event: "delivery.attempted",
    client: client.id,
    type: "message.received",
  };
  t.match(lines, [
    { ...commonFields, key: "chatapp", attempt: 1, outcome: "refused", status: 503, error: "HTTP 503" },
    {
      ...commonFields,
      key: "chatapp",
      attempt: 2,
      outcome: "delivered",
      status: 204,
      error: null,
      retry_in: null,
    },
  ]);
  t.equal(lines.length, 2);
  t.ok(isNear(Number(lines[0]?.retry_in) * SECOND, 5 * SECOND));
  for (const line of lines) t.type(line.ms, "number");
  const everything = JSON.stringify(dispatcher.lines);
  for (const secret of secrets) t.notOk(everything.includes(secret), secret.slice(0, 9));
});
