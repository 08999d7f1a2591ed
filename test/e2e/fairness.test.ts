import t, { type Test } from "tap";
import { type EventDraft, recordEvents } from "../../src/domain/events/record-events.ts";
import { replayEvents } from "../../src/domain/events/replay.ts";
import { createParking } from "../../src/queue/parking.ts";
import { createStreams } from "../../src/queue/streams.ts";
import { HOUR, SECOND } from "../../src/runtime/durations.ts";
import { databaseTime } from "../../src/store/database/clock.ts";
import { answering, type ClientBackend, startClientBackend } from "../fixtures/events/client-backend.ts";
import {
  countIn,
  doorbellOf,
  hasten,
  parkedOf,
  tell,
  times,
  untilDelivery,
} from "../fixtures/events/deliveries.ts";
import { configure, deliveryIs, deliveryOf, record } from "../fixtures/events/events.ts";
import { startDispatcher } from "../fixtures/processes/dispatcher.ts";
import { makeTenant, type Tenant } from "../fixtures/tenants/tenants.ts";
import { until } from "../fixtures/until.ts";

const SLOTS = 20;
const HALF = SLOTS / 2;
const TENTH = SLOTS / 10;
const TWENTIETH = SLOTS / 20;

const dispatcher = await startDispatcher(t, { settings: { DISPATCHER_CONCURRENCY: String(SLOTS) } });

/** A client with a backend of its own. */
async function clientWith(backend: ClientBackend): Promise<Tenant> {
  const client = await makeTenant(dispatcher);
  await configure(dispatcher, client, { url: backend.url });
  return client;
}

async function startClient(t: Test) {
  const backend = await startClientBackend(t);
  return { backend, client: await clientWith(backend) };
}

const some = (count: number): Partial<EventDraft>[] => times(count, () => ({}));
const allDelivered = (client: Tenant, count: number) =>
  until("all are delivered", async () => (await countIn(dispatcher, client, "delivered")) === count);

t.test("a backend that hangs, with a fifth of the traffic, delays nobody else", async (t) => {
  const clients = await Promise.all(times(10, () => startClient(t)));
  const [hanging, ...others] = clients as [(typeof clients)[0], ...typeof clients];
  hanging.backend.hold();
  const ofOthers = times(12, () => others.map(({ client }) => client.id)).flat();
  const drafts = ofOthers.flatMap((clientId, index) => [
    ...(index % 4 === 0 ? [draftOf(hanging.client.id)] : []),
    draftOf(clientId),
  ]);
  const recordedAt = Date.now();
  await recordEvents(dispatcher.db, drafts, await doorbellOf(dispatcher));
  const heard = () => others.flatMap(({ backend }) => backend.received);
  await until("the others have theirs", () => heard().length === ofOthers.length);
  t.ok(hanging.backend.open() >= TENTH, "the other one still hangs");
  const latest = Math.max(...heard().map(({ at }) => at));
  t.ok(latest - recordedAt < 5 * SECOND, `the last one after ${latest - recordedAt} ms`);
});

const draftOf = (clientId: string): EventDraft => ({
  clientId,
  type: "message.received",
  key: "chatapp",
  data: {},
});

t.test("one client alone has half of the slots, and never more", async (t) => {
  const { backend, client } = await startClient(t);
  backend.hold();
  await tell(dispatcher, client, ...some(30));
  await until("the rest is set aside", async () => (await parkedOf(dispatcher, client)) === 30 - HALF);
  await until("half of the slots are open", () => backend.open() === HALF);
  t.equal(backend.received.length, HALF);
  backend.release(3);
  await until("as many follow as have ended", () => backend.received.length === HALF + 3);
  t.equal(backend.open(), HALF);
  backend.answer = answering(200);
  backend.release();
  await allDelivered(client, 30);
  t.equal(backend.most(), HALF);
});

t.test("where all calls of a client end at once, as many follow at once", async (t) => {
  const { backend, client } = await startClient(t);
  const WAVES = 12;
  backend.hold();
  const hold = backend.answer;
  backend.answer = (response, event) => {
    hold(response, event);
    if (backend.open() === HALF) backend.release();
  };
  await tell(dispatcher, client, ...some(WAVES * HALF));
  await allDelivered(client, WAVES * HALF);
  const [first, last] = [backend.received[0], backend.received.at(-1)];
  const took = (last?.at ?? 0) - (first?.at ?? 0);
  t.ok(took < (WAVES / 2) * SECOND, `${took} ms`);
});

t.test("a client whose backend has just failed has a tenth, until it answers again", async (t) => {
  const { backend, client } = await startClient(t);
  backend.answer = answering(503);
  const [failed] = (await tell(dispatcher, client, {})) as [string];
  await untilDelivery(dispatcher, failed, { state: "retrying" });
  await deliveryIs(dispatcher, failed, { next_attempt_at: new Date(Date.now() + HOUR) });
  backend.hold();
  await tell(dispatcher, client, ...some(8));
  await until("the rest is set aside", async () => (await parkedOf(dispatcher, client)) === 8 - TENTH);
  await until("a tenth of the slots is open", () => backend.open() === TENTH);
  backend.release(1);
  await until("it is trusted again", () => backend.open() === 7);
  backend.answer = answering(200);
  backend.release();
  await allDelivered(client, 8);
});

t.test("a bulk replay has a twentieth of the slots, and others pass it, fresh or not", async (t) => {
  const { backend, client } = await startClient(t);
  const other = await startClient(t);
  const since = new Date(Date.now() - HOUR);
  backend.answer = answering(410);
  other.backend.answer = answering(410);
  const old = new Set(await tell(dispatcher, client, ...some(12)));
  await tell(dispatcher, other.client, {});
  await until("all have failed", async () => (await countIn(dispatcher, client, "failed")) === 12);
  await until("its too", async () => (await countIn(dispatcher, other.client, "failed")) === 1);
  backend.received.length = 0;
  other.backend.answer = answering(200);
  backend.hold();
  t.same(await replayEvents(dispatcher.db, client.id, { since }), { queued: 12, not_redispatched: 0 });
  await until("a twentieth is open", () => backend.open() === TWENTIETH);
  const parking = createParking(dispatcher.redis, 1);
  await until("the rest is set aside", async () => (await parking.count("bulk", 0)) === 12 - TWENTIETH);

  await replayEvents(dispatcher.db, other.client.id, { since });
  await allDelivered(other.client, 1);
  await Promise.all([
    tell(dispatcher, client, ...some(5)),
    record(dispatcher, other.client, ...some(5)), // the sweeper takes fresh ones too before replayed ones
  ]);
  await until("its own fresh ones are out", () => backend.open() === TWENTIETH + 5);
  await allDelivered(other.client, 1 + 5);
  t.equal(backend.received.filter(({ id }) => old.has(id)).length, TWENTIETH);

  let most = 0;
  backend.answer = (response, event) => {
    most = Math.max(most, backend.open());
    answering(200)(response, event);
  };
  backend.release();
  await allDelivered(client, 12 + 5);
  t.ok(most <= TWENTIETH + 5);
});

t.test("a replay to a backend that fails delays no fresh event of the same client", async (t) => {
  const { backend, client } = await startClient(t);
  backend.answer = answering(410);
  await tell(dispatcher, client, ...some(8));
  await until("all have failed", async () => (await countIn(dispatcher, client, "failed")) === 8);
  backend.answer = answering(503);
  const [unlucky] = (await tell(dispatcher, client, {})) as [string];
  await untilDelivery(dispatcher, unlucky, { state: "retrying" });
  backend.hold();
  await replayEvents(dispatcher.db, client.id, { since: new Date(Date.now() - HOUR) });
  await until("the replay has a twentieth", () => backend.open() === TWENTIETH);
  const fresh = new Set(await tell(dispatcher, client, ...some(TENTH)));
  const isOut = () => backend.received.filter(({ id }) => fresh.has(id)).length === TENTH;
  await until("the fresh ones are out", isOut, 10 * SECOND);
  backend.answer = answering(200);
  backend.release();
  await until(
    "and the rest after them",
    async () => (await countIn(dispatcher, client, "delivered")) >= 8 + TENTH,
  );
});

t.test("of two clients on one host, the one that hangs does not delay the other", async (t) => {
  const backend = await startClientBackend(t);
  const [slow, quick] = [await makeTenant(dispatcher), await makeTenant(dispatcher)];
  await configure(dispatcher, slow, { url: `${backend.url}/slow` });
  await configure(dispatcher, quick, { url: `${backend.url}/quick` });
  backend.hold();
  const hold = backend.answer;
  backend.answer = (response, event) =>
    event.path.startsWith("/slow") ? hold(response, event) : answering(200)(response, event);
  await tell(dispatcher, slow, ...some(HALF + 5));
  await until("it has all that it may have", () => backend.open() === HALF);
  await tell(dispatcher, quick, ...some(10));
  await allDelivered(quick, 10);
  t.equal(await countIn(dispatcher, slow, "delivered"), 0);
  backend.answer = answering(200);
  backend.release();
  await allDelivered(slow, HALF + 5);
});

t.test("what a dispatcher has set aside before it died, another one takes up", async (t) => {
  const { backend, client } = await startClient(t);
  const ids = await dispatcher.db.transaction(async (tx) => {
    const recorded = await recordEvents(
      tx,
      times(3, () => draftOf(client.id)),
    );
    // Or the sweeper would take them.
    await tx.query("update deliveries set enqueued_at = now() + interval '1 day' where client_id = $1", [
      client.id,
    ]);
    return recorded;
  });
  await createParking(dispatcher.redis, 1).park("events", client.id, ids);
  await allDelivered(client, 3);
  await until("nothing is left aside", async () => (await parkedOf(dispatcher, client)) === 0);
  t.equal(backend.received.length, 3);
});

t.test("a thousand are set aside, what comes after them is put off without an attempt", async (t) => {
  const { backend, client } = await startClient(t);
  backend.hold();
  const before = await databaseTime(dispatcher.db);
  await tell(dispatcher, client, ...some(1_010 + HALF));
  await until("a thousand are set aside", async () => (await parkedOf(dispatcher, client)) === 1_000);
  const putOff = await until("the others are put off", async () => {
    const rows = await dispatcher.db.query<Record<string, unknown>>(
      `select state, attempts
      from deliveries
      where client_id = $1
      and next_attempt_at > $2::timestamptz + interval '5 seconds'`,
      [client.id, before],
    );
    return rows.length >= 10 ? rows : undefined;
  });
  for (const row of putOff) t.same(row, { state: "pending", attempts: 0 });
  t.ok(backend.open() <= HALF);
  await dispatcher.db.query("delete from deliveries where client_id = $1 and state = 'pending'", [client.id]);
  await dispatcher.redis.del(`{events:0}:parked:${client.id}`);
});

/** Five failures in a row, after which the backend is left alone. */
async function failFive(backend: ClientBackend, client: Tenant): Promise<string[]> {
  backend.answer = answering(503);
  const failed = await tell(dispatcher, client, ...some(5));
  for (const id of failed) await untilDelivery(dispatcher, id, { state: "retrying", attempts: 1 });
  return failed;
}

const breakerOf = async ({ id }: Tenant) =>
  JSON.parse((await dispatcher.redis.hget("{events:0}:breakers", id)) ?? "null");

/** The time of the breaker is over. */
async function endBreaker(client: Tenant): Promise<void> {
  const breaker = { ...(await breakerOf(client)), until: Date.now() };
  await dispatcher.redis.hset("{events:0}:breakers", client.id, JSON.stringify(breaker));
}

t.test("after five failures in a row a backend is left alone, then tried by one call", async (t) => {
  const { backend, client } = await startClient(t);
  const configRow = () =>
    dispatcher.db.query<object>("select * from webhook_configs where id = $1", [client.id]);
  const before = await configRow();
  const failed = await failFive(backend, client);
  t.match(await breakerOf(client), { origin: backend.url, failedProbes: 0 });
  const fresh = await tell(dispatcher, client, ...some(6));
  const { until: end } = await breakerOf(client);
  for (const id of fresh) {
    const row = await until("it is put off", async () => {
      const found = await deliveryOf(dispatcher, id);
      return Number(found.next_attempt_at) > end - SECOND ? found : undefined;
    });
    t.match(row, { state: "pending", attempts: 0, last_error: null });
  }
  t.equal(backend.received.length, 5, "no request");

  const { depth } = createStreams(dispatcher.redis, 1);
  const noneElse = async () => {
    await hasten(dispatcher, client, ...failed, ...fresh);
    await until("the others had their turn", async () => (await depth("{events:0}")) === 0);
    return backend.open() === 1;
  };
  backend.hold();
  await until("one tries it", () => backend.open() === 1);
  t.ok(Date.now() >= end, "not before its time");
  t.ok(await noneElse());
  t.equal(backend.received.length, 6);
  backend.release(1, 503);
  await until("it is left alone for longer", async () => (await breakerOf(client))?.failedProbes === 1);

  await endBreaker(client);
  await until("one tries it again", async () => {
    await hasten(dispatcher, client, ...fresh.slice(0, 1));
    return backend.open() === 1;
  });
  t.ok(await noneElse());
  t.equal(backend.received.length, 7);
  backend.answer = answering(200);
  backend.release();
  await until("the breaker is gone", async () => (await breakerOf(client)) === null);
  await hasten(dispatcher, client, ...failed, ...fresh);
  await allDelivered(client, 11);
  t.same(await configRow(), before, "the client's own settings are as they were");
  const spent = await dispatcher.db.query<{ attempts: number }>(
    "select attempts from deliveries where client_id = $1",
    [client.id],
  );
  t.equal(
    spent.reduce((sum, { attempts }) => sum + attempts, 0),
    backend.received.length,
    "an attempt for each request, and for nothing else",
  );
});

t.test("a new address is tried at once, and has nothing to do with the old one", async (t) => {
  const { backend, client } = await startClient(t);
  await failFive(backend, client);
  const moved = await startClientBackend(t);
  await configure(dispatcher, client, { url: moved.url });
  const [first] = (await tell(dispatcher, client, {})) as [string];
  await untilDelivery(dispatcher, first, { state: "delivered", attempts: 1 });
  t.equal(backend.received.length, 5);
  moved.hold();
  await tell(dispatcher, client, ...some(HALF));
  await until("it has all the slots of a healthy one", () => moved.open() === HALF);
  t.equal(await breakerOf(client), null);
  moved.release();
});
