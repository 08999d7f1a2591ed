import t, { type Test } from "tap";
import { type EventDraft, recordEvents } from "../../src/domain/events/record-events.ts";
import { replayEvents } from "../../src/domain/events/replay.ts";
import { HOUR, MINUTE } from "../../src/runtime/durations.ts";
import { BREAKERS_KEY, untilBreakersRead } from "../fixtures/events/breakers.ts";
import {
  answerWith,
  type ClientBackend,
  startClientBackend,
  startClientWithBackend,
} from "../fixtures/events/client-backend.ts";
import {
  countDeliveries,
  createTestNotifier,
  makeDeliveriesDue,
  queueEvents,
  times,
  untilDelivery,
} from "../fixtures/events/deliveries.ts";
import { configureWebhook, makeEvents, readDelivery, updateDelivery } from "../fixtures/events/events.ts";
import { startDispatcher } from "../fixtures/processes/dispatcher.ts";
import { makeTenant, type Tenant } from "../fixtures/tenants/tenants.ts";
import { until } from "../fixtures/until.ts";

const SLOTS = 20;
const HALF_SLOTS = SLOTS / 2;
const TENTH_SLOTS = SLOTS / 10;
const TWENTIETH_SLOTS = SLOTS / 20;

const dispatcher = await startDispatcher(t, {
  settings: { DISPATCHER_CONCURRENCY: String(SLOTS) },
  deadline: 10 * MINUTE, // a call ends only when its backend answers
});

const startClient = (t: Test) => startClientWithBackend(t, dispatcher);

const emptyDrafts = (count: number): Partial<EventDraft>[] => times(count, () => ({}));
const untilAllDelivered = (client: Tenant, count: number) =>
  until("all are delivered", async () => (await countDeliveries(dispatcher, client, "delivered")) === count);

t.test("a hanging backend with a fifth of the traffic does not delay other clients", async (t) => {
  const clients = await Promise.all(times(10, () => startClient(t)));
  const [hanging, ...others] = clients as [(typeof clients)[0], ...typeof clients];
  hanging.backend.pauseAnswers();
  const otherClientIds = times(12, () => others.map(({ client }) => client.id)).flat();
  const drafts = otherClientIds.flatMap((clientId, index) => [
    ...(index % 4 === 0 ? [draftOf(hanging.client.id)] : []),
    draftOf(clientId),
  ]);
  await recordEvents(dispatcher.db, drafts, createTestNotifier(dispatcher));
  const receivedByOthers = () => others.flatMap(({ backend }) => backend.received);
  await until(
    "the other clients received their events",
    () => receivedByOthers().length === otherClientIds.length,
  );
  t.ok(hanging.backend.openRequests() >= TENTH_SLOTS, "the hanging backend still holds its requests");
});

const draftOf = (clientId: string): EventDraft => ({
  clientId,
  type: "platform.event",
  key: "chatapp",
  data: { field: "x", value: 1 },
});

t.test("a single client uses at most half of the slots", async (t) => {
  const { backend, client } = await startClient(t);
  backend.pauseAnswers();
  await queueEvents(dispatcher, client, ...emptyDrafts(30));
  await until("half of the slots are in use", () => backend.openRequests() === HALF_SLOTS);
  t.equal(backend.received.length, HALF_SLOTS);
  backend.release(3);
  await until("each ended call is followed by another", () => backend.received.length === HALF_SLOTS + 3);
  t.equal(backend.openRequests(), HALF_SLOTS);
  backend.answer = answerWith(200);
  backend.release();
  await untilAllDelivered(client, 30);
  t.equal(backend.maxOpenRequests(), HALF_SLOTS);
});

t.test("as many calls of a client start as end at the same moment", async (t) => {
  const { backend, client } = await startClient(t);
  const WAVES = 12;
  backend.pauseAnswers();
  const pausedAnswer = backend.answer;
  backend.answer = (response, event) => {
    pausedAnswer(response, event);
    if (backend.openRequests() === HALF_SLOTS) backend.release();
  };
  await queueEvents(dispatcher, client, ...emptyDrafts(WAVES * HALF_SLOTS));
  await untilAllDelivered(client, WAVES * HALF_SLOTS);
  t.equal(backend.maxOpenRequests(), HALF_SLOTS);
});

t.test("a client with a failing backend uses a tenth of the slots until it answers again", async (t) => {
  const { backend, client } = await startClient(t);
  backend.answer = answerWith(503);
  const [failed] = (await queueEvents(dispatcher, client, {})) as [string];
  await untilDelivery(dispatcher, failed, { state: "retrying" });
  await updateDelivery(dispatcher, failed, { next_attempt_at: new Date(Date.now() + HOUR) });
  backend.pauseAnswers();
  await queueEvents(dispatcher, client, ...emptyDrafts(8));
  await until("a tenth of the slots is in use", () => backend.openRequests() === TENTH_SLOTS);
  backend.release(1);
  await until("the client counts as healthy again", () => backend.openRequests() === 7);
  backend.answer = answerWith(200);
  backend.release();
  await untilAllDelivered(client, 8);
});

t.test(
  "a bulk replay uses a twentieth of the slots, and fresh events and other replays pass it",
  async (t) => {
    const { backend, client } = await startClient(t);
    const other = await startClient(t);
    const since = new Date(Date.now() - HOUR);
    backend.answer = answerWith(410);
    other.backend.answer = answerWith(410);
    const replayedIds = new Set(await queueEvents(dispatcher, client, ...emptyDrafts(12)));
    await queueEvents(dispatcher, other.client, {});
    await until("all have failed", async () => (await countDeliveries(dispatcher, client, "failed")) === 12);
    await until(
      "the other client's has failed too",
      async () => (await countDeliveries(dispatcher, other.client, "failed")) === 1,
    );
    backend.received.length = 0;
    other.backend.answer = answerWith(200);
    backend.pauseAnswers();
    t.match(await replayEvents(dispatcher.db, client.id, { since }), { queued: 12, not_redispatched: 0 });
    await until("a twentieth of the slots is in use", () => backend.openRequests() === TWENTIETH_SLOTS);

    await replayEvents(dispatcher.db, other.client.id, { since });
    await untilAllDelivered(other.client, 1);
    await Promise.all([
      queueEvents(dispatcher, client, ...emptyDrafts(5)),
      makeEvents(dispatcher, other.client, ...emptyDrafts(5)), // the poll finds fresh events besides replays
    ]);
    await until(
      "the client's own fresh events are in flight",
      () => backend.openRequests() === TWENTIETH_SLOTS + 5,
    );
    await untilAllDelivered(other.client, 1 + 5);
    t.equal(backend.received.filter(({ id }) => replayedIds.has(id)).length, TWENTIETH_SLOTS);

    let maxOpen = 0;
    backend.answer = (response, event) => {
      maxOpen = Math.max(maxOpen, backend.openRequests());
      answerWith(200)(response, event);
    };
    backend.release();
    await untilAllDelivered(client, 12 + 5);
    t.ok(maxOpen <= TWENTIETH_SLOTS + 5);
  },
);

t.test("a replay to a failing backend does not delay fresh events of the same client", async (t) => {
  const { backend, client } = await startClient(t);
  backend.answer = answerWith(410);
  await queueEvents(dispatcher, client, ...emptyDrafts(8));
  await until("all have failed", async () => (await countDeliveries(dispatcher, client, "failed")) === 8);
  backend.answer = answerWith(503);
  const [failedId] = (await queueEvents(dispatcher, client, {})) as [string];
  await untilDelivery(dispatcher, failedId, { state: "retrying" });
  await updateDelivery(dispatcher, failedId, { next_attempt_at: new Date(Date.now() + HOUR) });
  backend.pauseAnswers();
  await replayEvents(dispatcher.db, client.id, { since: new Date(Date.now() - HOUR) });
  await until("the replay uses a twentieth of the slots", () => backend.openRequests() === TWENTIETH_SLOTS);
  const fresh = new Set(await queueEvents(dispatcher, client, ...emptyDrafts(TENTH_SLOTS)));
  const isOut = () => backend.received.filter(({ id }) => fresh.has(id)).length === TENTH_SLOTS;
  await until("the fresh events are in flight", isOut);
  backend.answer = answerWith(200);
  backend.release();
  await until(
    "the rest is delivered after them",
    async () => (await countDeliveries(dispatcher, client, "delivered")) >= 8 + TENTH_SLOTS,
  );
});

t.test("a hanging client does not delay another client on the same host", async (t) => {
  const backend = await startClientBackend(t);
  const [slow, quick] = [await makeTenant(dispatcher), await makeTenant(dispatcher)];
  await configureWebhook(dispatcher, slow, { url: `${backend.url}/slow` });
  await configureWebhook(dispatcher, quick, { url: `${backend.url}/quick` });
  backend.pauseAnswers();
  const pausedAnswer = backend.answer;
  backend.answer = (response, event) =>
    event.path.startsWith("/slow") ? pausedAnswer(response, event) : answerWith(200)(response, event);
  await queueEvents(dispatcher, slow, ...emptyDrafts(HALF_SLOTS + 5));
  await until("the slow client uses its share of slots", () => backend.openRequests() === HALF_SLOTS);
  await queueEvents(dispatcher, quick, ...emptyDrafts(10));
  await untilAllDelivered(quick, 10);
  t.equal(await countDeliveries(dispatcher, slow, "delivered"), 0);
  backend.answer = answerWith(200);
  backend.release();
  await untilAllDelivered(slow, HALF_SLOTS + 5);
});

/** Opens the breaker with five failures in a row; returns the events, whose retries wait. */
async function failFiveTimes(backend: ClientBackend, client: Tenant): Promise<string[]> {
  backend.answer = answerWith(503);
  const failed = await queueEvents(dispatcher, client, ...emptyDrafts(5));
  for (const id of failed) {
    await untilDelivery(dispatcher, id, { state: "retrying", attempts: 1 });
    await updateDelivery(dispatcher, id, { next_attempt_at: new Date(Date.now() + HOUR) });
  }
  return failed;
}

const readBreaker = async ({ id }: Tenant) =>
  JSON.parse((await dispatcher.redis.hget(BREAKERS_KEY, id)) ?? "null");

/** Changes the end of the breaker's open duration. */
async function openBreakerUntil(client: Tenant, time: number): Promise<void> {
  const breaker = { ...(await readBreaker(client)), until: time };
  await dispatcher.redis.hset(BREAKERS_KEY, client.id, JSON.stringify(breaker));
}

t.test("a breaker opens after five failures in a row, and is then probed by one call", async (t) => {
  const { backend, client } = await startClient(t);
  const configRow = () =>
    dispatcher.db.query<object>("select * from webhook_configs where client_id = $1", [client.id]);
  const before = await configRow();
  const failed = await failFiveTimes(backend, client);
  t.match(await readBreaker(client), { origin: backend.url, failedProbes: 0, until: Number });
  await openBreakerUntil(client, Date.now() + HOUR); // its five seconds could end during the next checks
  await untilBreakersRead(dispatcher);
  const fresh = await queueEvents(dispatcher, client, ...emptyDrafts(6));
  const untouched = await Promise.all(fresh.map((id) => readDelivery(dispatcher, id)));
  await untilBreakersRead(dispatcher);
  t.equal(backend.received.length, 5, "no request");
  t.same(await Promise.all(fresh.map((id) => readDelivery(dispatcher, id))), untouched, "no row is written");

  const hasSingleProbe = async () => {
    await makeDeliveriesDue(dispatcher, client, ...failed, ...fresh);
    await untilBreakersRead(dispatcher);
    return backend.openRequests() === 1;
  };
  backend.pauseAnswers();
  await openBreakerUntil(client, Date.now());
  await until("one call probes the backend", async () => {
    await makeDeliveriesDue(dispatcher, client, ...failed.slice(0, 1));
    return backend.openRequests() === 1;
  });
  t.ok(await hasSingleProbe());
  t.equal(backend.received.length, 6);
  backend.release(1, 503);
  await until("the breaker is open for longer", async () => (await readBreaker(client))?.failedProbes === 1);

  await openBreakerUntil(client, Date.now());
  await until("one call probes the backend again", async () => {
    await makeDeliveriesDue(dispatcher, client, ...fresh.slice(0, 1));
    return backend.openRequests() === 1;
  });
  t.ok(await hasSingleProbe());
  t.equal(backend.received.length, 7);
  backend.answer = answerWith(200);
  backend.release();
  await until("the breaker is gone", async () => (await readBreaker(client)) === null);
  await makeDeliveriesDue(dispatcher, client, ...failed, ...fresh);
  await untilAllDelivered(client, 11);
  t.same(await configRow(), before, "the client's settings are unchanged");
  const attemptRows = await dispatcher.db.query<{ attempts: number }>(
    "select attempts from deliveries where client_id = $1",
    [client.id],
  );
  t.equal(
    attemptRows.reduce((sum, { attempts }) => sum + attempts, 0),
    backend.received.length,
    "one attempt per request",
  );
});

t.test("a new webhook_url is called immediately, regardless of the old one's breaker", async (t) => {
  const { backend, client } = await startClient(t);
  await failFiveTimes(backend, client);
  const newBackend = await startClientBackend(t);
  await configureWebhook(dispatcher, client, { url: newBackend.url });
  const [first] = (await queueEvents(dispatcher, client, {})) as [string];
  await untilDelivery(dispatcher, first, { state: "delivered", attempts: 1 });
  t.equal(backend.received.length, 5);
  newBackend.pauseAnswers();
  await queueEvents(dispatcher, client, ...emptyDrafts(HALF_SLOTS));
  await until("the client uses the slots of a healthy one", () => newBackend.openRequests() === HALF_SLOTS);
  newBackend.answer = answerWith(200);
  newBackend.release();
  await until("the old address's breaker is gone", async () => (await readBreaker(client)) === null);
});
