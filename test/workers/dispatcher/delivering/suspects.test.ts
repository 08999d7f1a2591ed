import type { ServerResponse } from "node:http";
import type { Test } from "tap";
import t from "tap";
import { createBreakers } from "../../../../src/queue/breakers.ts";
import { MINUTE } from "../../../../src/runtime/durations.ts";
import { NO_TRACKER } from "../../../../src/runtime/watchdog.ts";
import { createDatabase, type Database } from "../../../../src/store/database/database.ts";
import type { DeliveryRef } from "../../../../src/store/events/events.ts";
import { finishDeliveries } from "../../../../src/store/events/finish-deliveries.ts";
import {
  createConcurrencyLimiter,
  DELIVERY_LANES,
} from "../../../../workers/dispatcher/concurrency-limiter.ts";
import { createDeliveries } from "../../../../workers/dispatcher/delivering/deliveries.ts";
import { type DeliveryOutcome, postponed } from "../../../../workers/dispatcher/delivering/outcomes.ts";
import { startClientBackend } from "../../../fixtures/events/client-backend.ts";
import { untilDelivery } from "../../../fixtures/events/deliveries.ts";
import {
  configureWebhook,
  makeEvents,
  readDelivery,
  updateDelivery,
} from "../../../fixtures/events/events.ts";
import {
  insertDueDeliveries,
  openQueueContext,
  secondsFromNow,
} from "../../../fixtures/events/queue-rows.ts";
import { startDispatcher } from "../../../fixtures/processes/dispatcher.ts";
import { testConfig } from "../../../fixtures/processes/settings.ts";
import { watchStatements } from "../../../fixtures/servers/statements.ts";
import { makeTenant } from "../../../fixtures/tenants/tenants.ts";
import { until } from "../../../fixtures/until.ts";

const DELIVERED: DeliveryOutcome = {
  state: "delivered",
  skip_reason: null,
  delay_ms: null,
  restart_delay_ms: null,
  attempt: null,
};

const isSuspectClaim = (statement: string) => statement.includes("limit 1\n    for update skip locked");

interface OpenOptions {
  /** Wraps the database that the deliveries use. */
  database?: (real: Database) => Database;
  isAlive?: () => boolean;
  /** True when no call for the client of the suspects may start. */
  isAsleep?: () => boolean;
}

/** Two due suspects, the older one first, and a dispatcher's deliveries whose calls and writes the test controls. */
async function open(t: Test, options: OpenOptions = {}) {
  const { database = (db) => db, isAlive = () => true, isAsleep = () => false } = options;
  const context = await openQueueContext(t);
  const [first, second] = (await insertDueDeliveries(context, 2, { deaths: 2 })) as [
    DeliveryRef,
    DeliveryRef,
  ];
  await updateDelivery(context, first.id, { next_attempt_at: secondsFromNow(-60) });
  const begun: string[] = [];
  const writes: (() => void)[] = [];
  let areWritesHeld = false;
  const answers = new Map<string, (outcome: DeliveryOutcome) => void>();
  const deliveries = createDeliveries({
    worker: "wrk_1",
    db: database(context.db),
    limiter: createConcurrencyLimiter({ slots: 20, lanes: DELIVERY_LANES }),
    sleepOf: () => 0,
    sleepingClients: () => (isAsleep() ? [context.clientId] : []),
    mayClaim: isAlive,
    isHeld: () => false,
    onSlotFree: () => {},
    batchWriter: {
      waitForDrain: async () => {},
      async finish(finish) {
        if (areWritesHeld) await new Promise<void>((resolve) => writes.push(resolve));
        await finishDeliveries(context.db, [finish]);
      },
      abandon: () => {},
    },
    tracker: NO_TRACKER,
    deliver(row, { signal }) {
      begun.push(row.id);
      signal.addEventListener("abort", () => answers.get(row.id)?.(postponed(row, 0)));
      return new Promise((resolve) => answers.set(row.id, resolve));
    },
    record: () => {},
  });
  const stateOf = async ({ id }: DeliveryRef) => {
    const { state, worker_id } = await readDelivery(context, id);
    return worker_id === "wrk_1" ? "claimed" : state;
  };
  return {
    context,
    first,
    second,
    deliveries,
    begun,
    stateOf,
    answer: ({ id }: DeliveryRef) => answers.get(id)?.(DELIVERED),
    untilBegun: ({ id }: DeliveryRef) => until("the suspect's call is open", () => begun.includes(id)),
    holdWrites() {
      areWritesHeld = true;
    },
    untilWriting: () => until("an outcome is to be written", () => writes.length > 0),
    releaseWrites() {
      areWritesHeld = false;
      for (const release of writes) release();
    },
  };
}

t.test("the next suspect is claimed only after the outcome of the one before is written", async (t) => {
  const { statements, database } = watchStatements();
  const suspects = await open(t, { database });
  const { first, second, deliveries, stateOf } = suspects;
  suspects.holdWrites();
  const delivering = deliveries.deliverSuspects();
  await suspects.untilBegun(first);
  t.same([await stateOf(first), await stateOf(second)], ["claimed", "pending"]);
  t.equal(deliveries.count(), 1);
  suspects.answer(first);
  await suspects.untilWriting();
  t.same([await stateOf(first), await stateOf(second)], ["claimed", "pending"]);
  t.equal(statements.filter(isSuspectClaim).length, 1);
  suspects.releaseWrites();
  await suspects.untilBegun(second);
  t.equal(await stateOf(first), "delivered");
  suspects.answer(second);
  await delivering;
  t.equal(await stateOf(second), "delivered");
  t.equal(deliveries.count(), 0);
});

t.test("a suspect whose client's breaker is open is not claimed", async (t) => {
  let isAsleep = true;
  const { first, deliveries, begun, stateOf, untilBegun } = await open(t, { isAsleep: () => isAsleep });
  await deliveries.deliverSuspects();
  t.same([begun, await stateOf(first)], [[], "pending"]);
  isAsleep = false;
  void deliveries.deliverSuspects();
  await untilBegun(first);
  deliveries.stop();
  deliveries.abort();
  await deliveries.drain();
});

t.test("a stopped dispatcher claims no suspect, and aborts and drains the one in flight", async (t) => {
  const { context, first, second, deliveries, stateOf, untilBegun } = await open(t);
  const delivering = deliveries.deliverSuspects();
  await untilBegun(first);
  deliveries.stop();
  const drained = deliveries.drain();
  deliveries.abort();
  await Promise.all([drained, delivering]);
  const released = { state: "pending", attempts: 0, deaths: 2, lease: null, worker_id: null };
  t.match(await readDelivery(context, first.id), released);
  await deliveries.deliverSuspects();
  t.equal(await stateOf(second), "pending");
});

t.test("a suspect whose claim is answered after the stop is due again without a call", async (t) => {
  let letClaim = () => {};
  const claimable = new Promise<void>((resolve) => {
    letClaim = resolve;
  });
  const { statements, database } = watchStatements((text) =>
    isSuspectClaim(text) ? claimable : Promise.resolve(),
  );
  const { context, first, deliveries, begun } = await open(t, { database });
  const delivering = deliveries.deliverSuspects();
  await until("the claim has begun", () => statements.some(isSuspectClaim));
  deliveries.stop();
  const drained = deliveries.drain();
  letClaim();
  await drained;
  t.match(await readDelivery(context, first.id), { state: "pending", deaths: 2, lease: null, attempts: 0 });
  await delivering;
  t.same(begun, []);
});

t.test("a dispatcher without recorded heartbeats claims no suspect", async (t) => {
  let isAlive = false;
  const { first, deliveries, stateOf, untilBegun } = await open(t, { isAlive: () => isAlive });
  await deliveries.deliverSuspects();
  t.equal(await stateOf(first), "pending");
  isAlive = true;
  const delivering = deliveries.deliverSuspects();
  await untilBegun(first);
  deliveries.stop();
  deliveries.abort();
  await delivering;
});

t.test("a suspect whose claim got no answer waits again at once", async (t) => {
  let isAnswerLost = true;
  const database = (db: Database): Database => ({
    ...db,
    async query(statement, values) {
      const rows = await db.query<never>(statement, values);
      if (!isAnswerLost) return rows;
      isAnswerLost = false;
      throw new Error("the connection broke");
    },
  });
  const { first, second, deliveries, stateOf } = await open(t, { database });
  await t.rejects(deliveries.deliverSuspects(), { message: "the connection broke" });
  t.same([await stateOf(first), await stateOf(second)], ["pending", "pending"]);
});

/** A client with a backend, and events that exist before the dispatcher starts. */
async function openClients(t: Test) {
  const config = await testConfig(t, { PRIVATE_DESTINATIONS: "127.0.0.0/8" });
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  const backend = await startClientBackend(t);
  const makeClientEvents = async (...columns: Record<string, unknown>[]) => {
    const client = await makeTenant({ db, config });
    await configureWebhook({ db }, client, { url: backend.url });
    const ids = await makeEvents({ db }, client, ...columns.map(() => ({})));
    for (const [index, id] of ids.entries())
      await updateDelivery({ db }, id, { state: "pending", ...columns[index] });
    return ids;
  };
  return { config, db, backend, makeClientEvents };
}

t.test("a dispatcher delivers suspects one at a time, the oldest first, beside other events", async (t) => {
  const { config, db, backend, makeClientEvents } = await openClients(t);
  const responses = new Map<string, ServerResponse>();
  backend.answer = (response, { id }) => void responses.set(id, response);
  const due = (seconds: number) => ({ deaths: 2, next_attempt_at: secondsFromNow(-seconds) });
  const [third, first] = (await makeClientEvents(due(1_000), due(3_000))) as [string, string];
  const [second] = (await makeClientEvents(due(2_000))) as [string];
  const others = await makeClientEvents({}, { deaths: 1 });
  await startDispatcher(t, { config });
  await until("the other events are in flight", () => others.every((id) => responses.has(id)));
  for (const [index, id] of [first, second, third].entries()) {
    const response = await until("the next suspect arrives", () => responses.get(id));
    const expected = [first, second, third, ...others].filter((_, place) => place <= index || place > 2);
    t.same([...responses.keys()].sort(), expected.sort(), "no other suspect is in flight");
    const inFlight = await db.query(
      "select id from delivery_queue where worker_id is not null and deaths >= 2",
    );
    t.same(inFlight, [{ id }]);
    response.end();
  }
  for (const id of others) responses.get(id)?.end();
  for (const id of [first, second, third, ...others])
    await untilDelivery({ db }, id, { state: "delivered", attempts: 1 });
});

t.test("a suspect is not claimed while its client's circuit breaker is open", async (t) => {
  const { config, db, backend, makeClientEvents } = await openClients(t);
  const later = { deaths: 2, next_attempt_at: secondsFromNow(600) };
  const [suspect] = (await makeClientEvents(later)) as [string];
  const { redis, metrics } = await startDispatcher(t, { config });
  // A clock that is ahead keeps the breaker open for a minute longer.
  const breakers = createBreakers(redis, [18], { now: () => Date.now() + MINUTE });
  const { client_id } = await readDelivery({ db }, suspect);
  const destination = { clientId: client_id as string, origin: new URL(backend.url).origin };
  for (let failures = 0; failures < 5; failures++)
    await breakers.recordResult(destination, { isFailure: true, isProbe: false });
  const isOpen = async () => /herald_breakers\{state="open",[^}]*\} 1/.test(await metrics.text());
  await until("the dispatcher has read the breaker", isOpen);
  await updateDelivery({ db }, suspect, { next_attempt_at: secondsFromNow(-1) });
  const before = await readDelivery({ db }, suspect);
  const [other] = (await makeClientEvents({ deaths: 2 })) as [string];
  await untilDelivery({ db }, other, { state: "delivered" });
  t.same(await readDelivery({ db }, suspect), before, "its row is not written");
  t.same(
    backend.received.map(({ id }) => id),
    [other],
  );
});
