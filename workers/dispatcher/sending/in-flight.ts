import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { HORIZON, type Rate } from "../../../src/queue/send-rate.ts";
import { gather } from "../../../src/runtime/async/batcher.ts";
import { pause } from "../../../src/runtime/async/pause.ts";
import type { Log } from "../../../src/runtime/logging/log.ts";
import { createOutage } from "../../../src/runtime/logging/outage-logger.ts";
import type { Database } from "../../../src/store/database/database.ts";
import {
  type ClaimedSend,
  claimSends,
  type SendRef,
  unqueueSends,
} from "../../../src/store/messages/claim-sends.ts";
import type { Finisher } from "../batch-writer.ts";
import type { Gate } from "../concurrency-limiter.ts";
import type { Crew } from "../stream-consumer.ts";
import type { SendEnding } from "./outcomes.ts";
import type { EndedSend } from "./write-sends.ts";

interface SendsParts {
  /** This dispatcher's name in the rows. */
  worker: string;
  db: Database;
  log: Log;
  /** Whether the others can see that this dispatcher lives: what it claims otherwise they take for a dead one's. */
  isAlive(): boolean;
  /** By channel. */
  gate: Gate;
  rate: Rate;
  finisher: Finisher<EndedSend>;
  /** Undefined where somebody else decides by now how it goes on. */
  send(row: ClaimedSend, lease: string): Promise<SendEnding | undefined>;
  report(row: ClaimedSend, ending: SendEnding, ms: number): void;
}

/** Whoever's turn has come, and cannot go yet, comes again so much later; so does everybody while Redis does not answer. */
const COME_AGAIN = HORIZON + 100;
const BATCH = 100;
const LANE = "events";

/** A message, and in how many milliseconds it may go out. */
interface Planned extends SendRef {
  slotAt: number;
  wait: number;
}

export type Sends = ReturnType<typeof createSends>;

/**
 * The messages that this dispatcher sends. Each has its slot and its moment before its row is taken, so that nothing is in hand
 * that does not go out at once.
 */
export function createSends({ worker, db, log, gate, rate, finisher, ...parts }: SendsParts) {
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal); // one for each that waits, which Node would take for a leak
  const running = new Set<Promise<void>>();
  const outage = createOutage(log, { away: "send_claims.failed", back: "send_claims.mended" });

  const claim = gather(async (refs: readonly SendRef[]) => {
    if (!parts.isAlive()) throw new Error("no heartbeat");
    const token = randomUUID();
    const rows = new Map((await claimSends(db, refs, { token, worker })).map((row) => [row.id, row]));
    return ({ id }) => ({ row: rows.get(id), lease: token });
  }, BATCH);

  const giveBack = gather(async (refs: readonly SendRef[]) => {
    await unqueueSends(db, refs);
    return () => {};
  }, BATCH);

  async function take(refs: readonly SendRef[]): Promise<true> {
    const planned = await Promise.all([...byChannel(refs).values()].map(plan));
    const over: SendRef[] = [];
    for (const one of planned.flat())
      if (one.wait <= HORIZON && !stopping.signal.aborted && gate.take(LANE, one.channelId)) begin(one);
      else over.push(one);
    // What cannot be written is found by the sweeper, as whatever was queued and not taken up.
    if (over.length > 0) await unqueueSends(db, over).catch(() => {});
    return true;
  }

  /** Of one channel: in how many milliseconds each may go out, by whether its turn has come before. */
  async function plan(refs: readonly SendRef[]): Promise<Planned[]> {
    const [speaker] = refs as [SendRef, ...SendRef[]];
    const due = refs.filter(({ slotAt }) => slotAt !== undefined);
    const fresh = refs.filter(({ slotAt }) => slotAt === undefined);
    const moments = await rate.take(speaker, { due: due.length, fresh: fresh.length }).catch(() => undefined);
    const now = Date.now();
    return [
      ...due.map((ref, index) => ({ ...ref, wait: moments?.due.now[index] ?? COME_AGAIN })),
      ...fresh.map((ref, index) => {
        const { now: soon = [], later = [] } = moments?.fresh ?? {};
        const wait = soon[index] ?? later[index - soon.length] ?? COME_AGAIN;
        return { ...ref, wait };
      }),
    ].map((one) => ({ ...one, slotAt: Math.round(now + one.wait) }));
  }

  function begin(planned: Planned): void {
    const work = run(planned).finally(() => {
      gate.give(LANE, planned.channelId);
      running.delete(work);
    });
    running.add(work);
  }

  async function run({ wait, ...ref }: Planned): Promise<void> {
    if (wait > 0) await pause(wait, stopping.signal);
    if (stopping.signal.aborted) return giveBack(ref).catch(() => {});
    const claimed = await claim(ref).then((found) => {
      outage.mended();
      return found;
    }, outage.failed);
    if (claimed?.row) await attempt(claimed.row, claimed.lease);
  }

  async function attempt(row: ClaimedSend, lease: string): Promise<void> {
    const began = performance.now();
    const ending = await parts.send(row, lease);
    if (!ending) return log.warn("message.lost", { client: row.client_id, message_id: row.id });
    parts.report(row, ending, Math.round(performance.now() - began));
    const { client_id, id } = row;
    await finisher.finish({ client_id, id, lease, ...ending.finish, events: ending.events });
  }

  const crew: Crew = {
    size: () => running.size,
    stop: () => stopping.abort(),
    async idle() {
      while (running.size > 0) await Promise.all(running);
    },
    // A request that is out is awaited: given up, nobody would know what became of it.
    abort: () => {},
    giveUp: () => finisher.giveUp(),
  };
  return { take, room: () => gate.room(LANE), roomNow: () => gate.roomIn(LANE), ...crew };
}

/** The queue may name one twice. */
function byChannel(refs: readonly SendRef[]): Map<string, SendRef[]> {
  const channels = new Map<string, SendRef[]>();
  for (const ref of new Map(refs.map((one) => [one.id, one])).values())
    channels.set(ref.channelId, [...(channels.get(ref.channelId) ?? []), ref]);
  return channels;
}
