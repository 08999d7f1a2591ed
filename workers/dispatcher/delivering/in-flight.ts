import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import type { Parking } from "../../../src/queue/parking.ts";
import type { EventLane } from "../../../src/queue/streams.ts";
import { persist } from "../../../src/runtime/async/pause.ts";
import { within } from "../../../src/runtime/async/with-timeout.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import type { Log } from "../../../src/runtime/logging/log.ts";
import { createOutage } from "../../../src/runtime/logging/outage-logger.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { type ClaimedRow, claimDeliveries, type Finish } from "../../../src/store/events/claim-deliveries.ts";
import type { DeliveryRef } from "../../../src/store/events/delivery-refs.ts";
import { unqueue } from "../../../src/store/events/sweep-deliveries.ts";
import type { Finisher } from "../batch-writer.ts";
import type { Gate } from "../concurrency-limiter.ts";
import { type Ending, postponed } from "./outcomes.ts";

interface DeliveriesParts {
  /** This dispatcher's name in the rows. */
  worker: string;
  db: Database;
  log: Log;
  /** Whether the others can see that this dispatcher lives: what it claims otherwise they take for a dead one's. */
  isAlive(): boolean;
  gate: Gate;
  parking: Parking;
  finisher: Finisher<Finish>;
  deliver(row: ClaimedRow, signal: AbortSignal): Promise<Ending>;
  report(row: ClaimedRow, ending: Ending): void;
}

interface Claim {
  lease: string;
  /** When it was asked for. */
  began: number;
}

/** What there is no room for in Redis comes back after so long. */
const PUT_OFF = 5 * SECOND;

/** What was claimed longer ago is not begun any more: the others may take this dispatcher for dead. */
const LATEST_BEGINNING = 5 * SECOND;

/** So many calls are begun in one turn of the loop, which in between hears the answers that have come. */
const AT_ONCE = 2;

/** A turn that takes longer says that this process has more to do than it can: answers are heard late. */
const LONG_TURN = 10;
/** Then it has no more calls out than this, unless none of them ends for a while. */
const OUT_WHEN_BUSY = 8;
const A_WHILE = 20;

/** Answers how many milliseconds it took. */
async function nextTurn(): Promise<number> {
  const began = performance.now();
  await new Promise<void>((resolve) => setImmediate(resolve));
  return performance.now() - began;
}

export type Deliveries = ReturnType<typeof createDeliveries>;

/** What this dispatcher has in hand: takes up what is due as far as there are slots, and sets the rest aside. */
export function createDeliveries({ worker, db, log, gate, parking, finisher, ...parts }: DeliveriesParts) {
  const stopping = new AbortController();
  const aborting = new AbortController();
  setMaxListeners(0, stopping.signal, aborting.signal); // one for each call, which Node would take for a leak
  const running = new Set<Promise<void>>();
  const out = new Set<Promise<unknown>>();
  const unparking = new Map<string, Promise<void>>();
  const parkedHere: Record<EventLane, Set<string>> = { events: new Set(), bulk: new Set() };
  const outage = createOutage(log, { away: "claims.failed", back: "claims.mended" });
  /** Undefined where it was given up, because the process ends. */
  const persistently = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    const patience = { signal: stopping.signal, first: 200, most: 5 * SECOND, onFault: outage.failed };
    const done = await persist(work, patience);
    if (done !== undefined) outage.mended();
    return done;
  };

  /** False where it was given up, because the process ends: they are still in nobody's hand. */
  async function take(lane: EventLane, refs: readonly DeliveryRef[]): Promise<boolean> {
    const admitted: DeliveryRef[] = [];
    const over: DeliveryRef[] = [];
    for (const ref of distinct(refs)) (gate.take(lane, ref.clientId) ? admitted : over).push(ref);
    const [begun, aside] = await Promise.all([begin(lane, admitted), setAside(lane, over)]);
    return begun && aside;
  }

  async function begin(lane: EventLane, refs: readonly DeliveryRef[]): Promise<boolean> {
    if (refs.length === 0) return true;
    const lease = { token: randomUUID(), worker };
    const began = performance.now();
    const rows = await persistently(() => {
      if (!parts.isAlive()) throw new Error("no heartbeat");
      return claimDeliveries(db, refs, lease);
    });
    const claimed = new Set(rows?.map(({ id }) => id));
    for (const { clientId, id } of refs) if (!claimed.has(id)) gate.give(lane, clientId);
    await inHand(start(lane, rows ?? [], { lease: lease.token, began }));
    return rows !== undefined;
  }

  /** One after the other: the fewer are told and not written down yet, the fewer are told twice after a crash. */
  async function start(lane: EventLane, rows: readonly ClaimedRow[], { lease, began }: Claim): Promise<void> {
    for (const [index, row] of rows.entries()) {
      if (index % AT_ONCE === AT_ONCE - 1 && (await nextTurn()) > LONG_TURN && out.size > OUT_WHEN_BUSY)
        await within(A_WHILE, Promise.race(out), () => {});
      await finisher.calm();
      const isLate = stopping.signal.aborted || performance.now() - began > LATEST_BEGINNING;
      run(lane, row, isLate ? giveBack(row, lease) : attempt(row, lease));
    }
  }

  function run(lane: EventLane, row: ClaimedRow, work: Promise<void>): void {
    const ended = () => {
      gate.give(lane, row.client_id);
      if (parkedHere[lane].has(row.client_id)) void unpark(lane, row.client_id);
    };
    void inHand(work.finally(ended));
  }

  function inHand(work: Promise<void>): Promise<void> {
    running.add(work);
    return work.finally(() => running.delete(work));
  }

  async function attempt(row: ClaimedRow, lease: string): Promise<void> {
    const call = parts.deliver(row, aborting.signal);
    out.add(call);
    const ending = await call.finally(() => out.delete(call));
    parts.report(row, ending);
    await finish(row, lease, ending);
  }

  /** Due at once, for whoever comes first. */
  const giveBack = (row: ClaimedRow, lease: string): Promise<void> => finish(row, lease, postponed(row, 0));

  function finish(
    { client_id, id, schedule_base }: ClaimedRow,
    lease: string,
    ending: Ending,
  ): Promise<void> {
    const { outcome, fault, ...written } = ending;
    return finisher.finish({ client_id, id, lease, schedule_base, ...written });
  }

  async function setAside(lane: EventLane, refs: readonly DeliveryRef[]): Promise<boolean> {
    const byClient = new Map<string, string[]>();
    for (const { clientId, id } of refs) byClient.set(clientId, [...(byClient.get(clientId) ?? []), id]);
    const left: DeliveryRef[] = [];
    for (const [clientId, ids] of byClient) {
      parkedHere[lane].add(clientId);
      const rejected = await parking.park(lane, clientId, ids).catch(() => ids);
      left.push(...rejected.map((id) => ({ clientId, id })));
    }
    if (left.length === 0) return true;
    const putOff = await persistently(async () => {
      await unqueue(db, left, PUT_OFF);
      return true;
    });
    return putOff ?? false;
  }

  /** Takes up what waits of this client, as far as it may have slots now. */
  async function unpark(lane: EventLane, clientId: string): Promise<void> {
    const name = `${lane} ${clientId}`;
    if (!unparking.has(name) && roomFor(lane, clientId) > 0)
      unparking.set(name, refill(lane, clientId, name));
    await unparking.get(name);
  }

  /** Looks at the room again each time: of calls that end together only the first one comes as far as this. */
  async function refill(lane: EventLane, clientId: string, name: string): Promise<void> {
    let room = roomFor(lane, clientId);
    while (room > 0) {
      const ids = await parking.pop(lane, clientId, room).catch(() => []);
      if (ids.length < room) parkedHere[lane].delete(clientId);
      const refs = ids.map((id) => ({ clientId, id }));
      if (!(await take(lane, refs))) await parking.park(lane, clientId, ids).catch(() => {});
      room = ids.length < room ? 0 : roomFor(lane, clientId);
    }
    unparking.delete(name); // in the same moment as the last look, or a slot that is freed in between would be missed
  }

  const roomFor = (lane: EventLane, clientId: string): number =>
    stopping.signal.aborted ? 0 : gate.roomFor(lane, clientId);

  return {
    take,
    unpark,
    /** How much is in hand. */
    size: () => running.size,
    /** From now on nothing is taken up. */
    stop: () => stopping.abort(),
    /** When everything in hand has come to its end. */
    async idle(): Promise<void> {
      while (running.size + unparking.size > 0) await Promise.all([...running, ...unparking.values()]);
    },
    /** Gives up what is still out; none of it counts as an attempt. */
    abort: () => aborting.abort(),
    /** Gives up writing down how it ended: the others will find it in the hands of a dead one. */
    giveUp: () => finisher.giveUp(),
  };
}

/** The queue may name one twice. */
const distinct = (refs: readonly DeliveryRef[]): DeliveryRef[] => [
  ...new Map(refs.map(({ clientId, id }) => [id, { clientId, id }])).values(),
];
