import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type EventDraft, recordEvents, toNewEvent } from "../../src/domain/events/record-events.ts";
import { generateSecret } from "../../src/domain/tenants/webhook-configs.ts";
import { newId } from "../../src/runtime/ids.ts";
import { createSecretBox } from "../../src/security/secret-box.ts";
import { createClient } from "../../src/store/tenants/clients.ts";
import { configureWebhook } from "../fixtures/events/events.ts";
import { makeActor } from "../fixtures/tenants/actors.ts";
import { until } from "../fixtures/until.ts";
import { inBatches, monotonicMs, openProducer, type PeerModule, type Queue, workOff } from "./backlog.ts";
import type { Work } from "./case.ts";
import {
  type ArrivalTimes,
  type BenchContext,
  importPeer,
  type PeerName,
  type Receiver,
  startHerald,
  startPeer,
  startReceiver,
} from "./context.ts";
import { atRate, percentilesOf } from "./load.ts";
import { storeWaitingSends } from "./stored-rows.ts";
import { draftFor, repeat } from "./tenants.ts";
import { startCpuCount } from "./usage.ts";

/** An event as it was committed, with the time of the commit on the machine's monotonic clock. */
interface CommittedEvent {
  id: string;
  at: number;
}

/** Herald or a peer that delivers events. */
interface EventQueue extends Queue<EventDraft> {
  /** Creates clients with these addresses and returns their ids. */
  addClients(urls: readonly string[]): Promise<string[]>;
  /** Commits one event and enqueues it. */
  emit(draft: EventDraft): Promise<CommittedEvent>;
  /** Removes the waiting events. */
  discard(): Promise<unknown>;
}

const CANCEL_WAITING = `
  with waiting as (delete from delivery_queue where worker_id is null returning id, client_id)
  update deliveries d
  set state = 'cancelled'
  from waiting w
  where d.client_id = w.client_id
  and d.id = w.id`;

const COUNT_DELIVERED = `
  select
    (select count(*) from deliveries where client_id = any($1::uuid[]) and id >= $2 and state = 'delivered')::integer
      as done,
    (select count(*) from attempts where client_id = any($1::uuid[]) and id >= $2)::integer as attempts`;

/** Nothing listens on this port: every connection is refused. */
const AWAY_PLATFORM = { CHAT_PLATFORM_URL: "http://127.0.0.1:9/v26.0" };

/** Starts dispatchers. Events enter through the code with which web records and enqueues them. */
async function startHeraldQueue(context: BenchContext, slots: number): Promise<EventQueue> {
  const { db, config, condition } = context;
  if (condition.waitingSends) await storeWaitingSends(context, condition.waitingSends);
  const settings = { DISPATCHER_CONCURRENCY: String(slots), ...AWAY_PLATFORM };
  const workers = await Promise.all(
    repeat(condition.dispatchers ?? 1, () => startHerald(context, "dispatcher", settings)),
  );
  const producer = await openProducer(context);
  const secretBox = createSecretBox(config.ENCRYPTION_KEYS);
  const clientIds: string[] = [];
  const readFirst = async <T extends object>(statement: string, values: unknown[] = []) => {
    const [row] = await db.query<T>(statement, values);
    return row as T;
  };
  return {
    workers,
    processes: { dispatcher: workers.map(({ pid }) => pid), ...context.servers },
    async addClients(urls) {
      const added: string[] = [];
      for (const url of urls) {
        const client = await createClient(db, "Bench");
        await configureWebhook({ db }, client, { url });
        await generateSecret({ db, secretBox }, makeActor(client.id), 0);
        added.push(client.id);
      }
      clientIds.push(...added);
      return added;
    },
    enqueue: (drafts) => recordEvents(producer.db, drafts, producer.events) as Promise<string[]>,
    async emit(draft) {
      let at = 0;
      const notifier: typeof producer.events = {
        ...producer.events,
        notify(refs) {
          at = monotonicMs(); // the commit precedes the call of the notifier
          producer.events.notify(refs);
        },
      };
      const [id] = await recordEvents(producer.db, [draft], notifier);
      return { id: id as string, at };
    },
    isIdle: async () =>
      (await readFirst<{ idle: boolean }>("select not exists (select from delivery_queue) as idle")).idle,
    discard: () => db.query(CANCEL_WAITING),
    countWritten: (firstId) => readFirst(COUNT_DELIVERED, [clientIds, firstId]),
  };
}

/** The body is Herald's, byte for byte. */
interface DeliveryJob {
  id: string;
  clientId: string;
  type: string;
  payload: string;
}

function toJob(draft: EventDraft): DeliveryJob {
  const { id, client_id: clientId, type, payload } = toNewEvent(newId("evt"), draft);
  return { id, clientId, type, payload };
}

const INSERT_DESTINATIONS = `
  insert into peer_destinations (client_id, url, secret)
  select * from unnest($1::uuid[], $2::text[], $3::text[])`;

const INSERT_EVENTS = `
  insert into peer_events (id, client_id, type, payload)
  select * from unnest($1::text[], $2::uuid[], $3::text[], $4::text[])`;

const COUNT_ATTEMPTS = `
  select count(*) filter (where error is null)::integer as done, count(*)::integer as attempts
  from peer_attempts
  where event_id >= $1`;

/** Starts a peer's worker. Events are committed first and then added to its queue. */
async function startPeerQueue(context: BenchContext, peer: PeerName, slots: number): Promise<EventQueue> {
  const { db } = context;
  const worker = await startPeer(context, peer, { WORK: "deliveries", SLOTS: String(slots) });
  const { openJobs } = await importPeer<PeerModule<DeliveryJob>>(peer);
  const jobs = await openJobs(context.settings);
  context.teardown(jobs.close);
  const insertEvents = (batch: readonly DeliveryJob[]) =>
    db.query(INSERT_EVENTS, [
      batch.map(({ id }) => id),
      batch.map(({ clientId }) => clientId),
      batch.map(({ type }) => type),
      batch.map(({ payload }) => payload),
    ]);
  return {
    workers: [worker],
    processes: { peer: worker.pid, ...context.servers },
    async addClients(urls) {
      const ids = urls.map(() => randomUUID());
      const secrets = urls.map(() => `whsec_${randomBytes(24).toString("base64")}`);
      const paths = urls.map((url) => `${url}/chat/receiveMessage`); // as Herald's for a received message
      await db.query(INSERT_DESTINATIONS, [ids, paths, secrets]);
      return ids;
    },
    async enqueue(drafts) {
      const all = drafts.map(toJob);
      await inBatches(all, async (batch) => {
        await insertEvents(batch);
        await jobs.add(batch);
      });
      return all.map(({ id }) => id);
    },
    async emit(draft) {
      const job = toJob(draft);
      await insertEvents([job]);
      const at = monotonicMs();
      await jobs.add([job]);
      return { id: job.id, at };
    },
    isIdle: jobs.isIdle,
    discard: jobs.discard,
    async countWritten(firstId) {
      const [row] = await db.query<{ done: number; attempts: number }>(COUNT_ATTEMPTS, [firstId]);
      return row ?? { done: 0, attempts: 0 };
    },
  };
}

const startQueue = (context: BenchContext, slots: number, peer?: PeerName) =>
  peer ? startPeerQueue(context, peer, slots) : startHeraldQueue(context, slots);

type BackendMode = "ok" | "slow" | "hang" | "error" | "drip";

/** Addresses at the receiver, each with an origin of its own on a loopback address. */
const addressesOf = ({ origin }: Receiver, modes: readonly BackendMode[]): string[] =>
  modes.map((mode, index) => {
    const host = `127.0.${1 + Math.floor(index / 250)}.${1 + (index % 250)}`;
    return `http://${host}:${new URL(origin).port}/${mode}`;
  });

interface DeliveryOptions {
  /** Events per round. */
  count: number;
  slots?: number;
  backends: number;
  mode?: BackendMode;
}

/** The slots that a dispatcher has by default. */
const DEFAULT_SLOTS = 200;

/** Delivers a backlog of events. Measures `rate`. */
export const deliveries =
  ({ count, slots = DEFAULT_SLOTS, backends, mode = "ok" }: DeliveryOptions): Work =>
  async (context, peer) => {
    const receiver = await startReceiver(context, "backend");
    const queue = await startQueue(context, slots, peer);
    const clientIds = await queue.addClients(addressesOf(receiver, Array(backends).fill(mode)));
    return {
      async run() {
        const events = context.count(count);
        const items = repeat(events, (index) => draftFor(clientIds[index % backends] as string, index));
        return (await workOff(queue, { receiver, items, keys: events })).sample;
      },
    };
  };

interface SteadyOptions {
  perSecond: number;
  seconds: number;
  slots?: number;
  backends: number;
  /** Further backends that fail in these ways. Every fourth event is for them. */
  failing?: readonly BackendMode[];
}

const FAILING_EVERY = 4;
/** Events that have not arrived this long after the last commit count as never arrived. */
const GRACE_MS = 3_000;

/**
 * Delivers events at a constant rate. Measures `p50` and `p99` from the commit of an event for a healthy backend to its
 * arrival, and the percentage of these events that `arrived`.
 */
export const steadyDeliveries =
  (options: SteadyOptions): Work =>
  async (context, peer) => {
    const { perSecond, seconds, slots = DEFAULT_SLOTS, backends, failing = [] } = options;
    const receiver = await startReceiver(context, "backend");
    const queue = await startQueue(context, slots, peer);
    const healthy = await queue.addClients(addressesOf(receiver, Array(backends).fill("ok")));
    const count = context.count(perSecond * seconds, 2 * FAILING_EVERY);
    return {
      async run() {
        // New ones in each round: a contestant must not know them from an earlier one.
        const sick = await queue.addClients(addressesOf(receiver, failing));
        await receiver.reset();
        const toSample = startCpuCount(queue.processes);
        const events = await atRate({ perSecond, count }, async (index) => {
          const isSick = sick.length > 0 && index % FAILING_EVERY === 0;
          const clients = isSick ? sick : healthy;
          const turn = isSick ? index / FAILING_EVERY : index - Math.floor(index / FAILING_EVERY);
          const clientId = clients[turn % clients.length] as string;
          return { isSick, ...(await queue.emit(draftFor(clientId, index))) };
        });
        if (sick.length > 0) await sleep(GRACE_MS);
        else await until("every event is delivered", queue.isIdle);
        const sample = toSample(count);
        const expected = events.filter(({ isSick }) => !isSick);
        const latencies = latenciesOf(expected, await receiver.arrivals());
        const arrived = (100 * latencies.filter(Number.isFinite).length) / expected.length;
        if (sick.length === 0 && arrived < 100) throw new Error(`${arrived} % of the events have arrived`);
        await discardAll(queue, receiver);
        return { ...sample, values: { ...sample.values, ...percentilesOf(latencies), arrived } };
      },
    };
  };

/**
 * Milliseconds from the commit of each event to its arrival; infinite for an event that did not arrive. Throws for one that
 * arrived twice.
 */
function latenciesOf(events: readonly CommittedEvent[], arrivals: ArrivalTimes): number[] {
  const doubled = arrivals.filter(([, times]) => times.length > 1);
  if (doubled.length > 0) throw new Error(`${doubled.length} events have arrived more than once`);
  const arrivedAt = new Map(arrivals.map(([id, [time]]) => [id, time]));
  return events.map(({ id, at }) => (arrivedAt.get(id) ?? Number.POSITIVE_INFINITY) - at);
}

/** A call that was open may leave its event waiting again. */
const discardAll = (queue: EventQueue, receiver: Receiver) =>
  until("no event waits or is being delivered", async () => {
    await queue.discard();
    await receiver.release();
    return queue.isIdle();
  });
