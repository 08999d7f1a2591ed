import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import type { Parking } from "../../src/dispatch/queue/parking.ts";
import type { Lane } from "../../src/dispatch/queue/streams.ts";
import { SECOND } from "../../src/runtime/durations.ts";
import type { Log } from "../../src/runtime/log.ts";
import { persist } from "../../src/runtime/pause.ts";
import { type ClaimedRow, claimDeliveries } from "../../src/store/claims.ts";
import type { Database } from "../../src/store/database.ts";
import type { DeliveryRef } from "../../src/store/delivery-refs.ts";
import { unqueue } from "../../src/store/sweeps.ts";
import type { Ending } from "./endings.ts";
import type { Finisher } from "./finisher.ts";
import type { Gate } from "./gate.ts";

export interface DeliveriesParts {
  /** This dispatcher's name in the rows. */
  worker: string;
  db: Database;
  log: Log;
  gate: Gate;
  parking: Parking;
  finisher: Finisher;
  deliver(row: ClaimedRow, signal: AbortSignal): Promise<Ending>;
  report(row: ClaimedRow, ending: Ending): void;
}

/** What there is no room for in Redis comes back after so long. */
const PUT_OFF = 5 * SECOND;

export type Deliveries = ReturnType<typeof createDeliveries>;

/** What this dispatcher has in hand: takes up what is due as far as there are slots, and sets the rest aside. */
export function createDeliveries({ worker, db, log, gate, parking, finisher, ...parts }: DeliveriesParts) {
  const stopping = new AbortController();
  const aborting = new AbortController();
  setMaxListeners(0, stopping.signal, aborting.signal); // one for each call, which Node would take for a leak
  const running = new Set<Promise<void>>();
  const unparking = new Set<string>();
  const parkedHere: Record<Lane, Set<string>> = { events: new Set(), bulk: new Set() };
  const persistently = <T>(work: () => Promise<T>) =>
    persist(work, {
      signal: stopping.signal,
      first: 200,
      most: 5 * SECOND,
      onFault: (error) => log.warn("dispatcher.database_away", { err: error }),
    });

  /** False where it was given up, because the process ends: they are still in nobody's hand. */
  async function take(lane: Lane, refs: readonly DeliveryRef[]): Promise<boolean> {
    const admitted: DeliveryRef[] = [];
    const over: DeliveryRef[] = [];
    for (const ref of distinct(refs)) (gate.take(lane, ref.clientId) ? admitted : over).push(ref);
    const [begun, aside] = await Promise.all([begin(lane, admitted), setAside(lane, over)]);
    return begun && aside;
  }

  async function begin(lane: Lane, refs: readonly DeliveryRef[]): Promise<boolean> {
    if (refs.length === 0) return true;
    const lease = { token: randomUUID(), worker };
    const rows = await persistently(() => claimDeliveries(db, refs, lease));
    const claimed = new Set(rows?.map(({ id }) => id));
    for (const { clientId, id } of refs) if (!claimed.has(id)) gate.give(lane, clientId);
    for (const row of rows ?? []) run(lane, row, lease.token);
    return rows !== undefined;
  }

  function run(lane: Lane, row: ClaimedRow, lease: string): void {
    const work = attempt(row, lease).finally(() => {
      running.delete(work);
      gate.give(lane, row.client_id);
      if (parkedHere[lane].has(row.client_id)) void unpark(lane, row.client_id);
    });
    running.add(work);
  }

  async function attempt(row: ClaimedRow, lease: string): Promise<void> {
    const ending = await parts.deliver(row, aborting.signal);
    parts.report(row, ending);
    const { client_id, id, schedule_base } = row;
    const { state, skip_reason, delay_ms, restart_delay_ms, attempt } = ending;
    await finisher.finish({
      client_id,
      id,
      lease,
      schedule_base,
      state,
      skip_reason,
      delay_ms,
      restart_delay_ms,
      attempt,
    });
  }

  async function setAside(lane: Lane, refs: readonly DeliveryRef[]): Promise<boolean> {
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
  async function unpark(lane: Lane, clientId: string): Promise<void> {
    const room = gate.roomFor(lane, clientId);
    const name = `${lane} ${clientId}`;
    if (room === 0 || unparking.has(name) || stopping.signal.aborted) return;
    unparking.add(name);
    const ids = await parking.pop(lane, clientId, room).catch(() => []);
    unparking.delete(name);
    if (ids.length < room) parkedHere[lane].delete(clientId);
    await take(
      lane,
      ids.map((id) => ({ clientId, id })),
    );
  }

  return {
    take,
    unpark,
    inHand: () => running.size,
    /** From now on nothing is taken up. */
    stop: () => stopping.abort(),
    /** When everything in hand has come to its end. */
    async idle(): Promise<void> {
      while (running.size > 0) await Promise.all(running);
    },
    /** Gives up what is still out; none of it counts as an attempt. */
    abort: () => aborting.abort(),
  };
}

/** The queue may name one twice. */
const distinct = (refs: readonly DeliveryRef[]): DeliveryRef[] => [
  ...new Map(refs.map(({ clientId, id }) => [id, { clientId, id }])).values(),
];
