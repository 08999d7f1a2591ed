import { Redis } from "ioredis";
import { recordEvents } from "../../../src/domain/events/record-events.ts";
import { until } from "../../fixtures/until.ts";
import { monotonicMs } from "../clock.ts";
import type { BenchContext } from "../frame/context.ts";
import { serverProcesses } from "../frame/cpu.ts";
import { startHerald } from "../frame/processes.ts";
import { suspension, type WrittenCounts } from "./backlog-system.ts";
import type { EventSystem } from "./event-system.ts";
import { type HeraldProducer, openProducer } from "./herald-producer.ts";

interface HeraldOptions {
  slots: number;
  dispatchers?: number;
  settings?: Record<string, string>;
  /** Replaces `herald` where Herald is its own peer. */
  name?: string;
}

const COUNT_WRITTEN = `
  select
    (select count(*) from deliveries where id >= $1 and state = 'delivered')::integer as done,
    (select count(*) from attempts where id >= $1)::integer as attempts`;

const CANCEL_WAITING = `
  with waiting as (delete from delivery_queue where worker_id is null returning id)
  update deliveries set state = 'cancelled' where id in (select id from waiting)`;
const COUNT_OPEN = "select count(*)::integer as count from delivery_queue where worker_id is not null";

/** A call that was open may leave its delivery waiting again. */
async function cancelAll({ db }: BenchContext, endCalls: () => Promise<void>): Promise<void> {
  const isIdle = async () => {
    await db.query(CANCEL_WAITING);
    await endCalls();
    const [row] = await db.query<{ count: number }>(COUNT_OPEN);
    return row?.count === 0;
  };
  await until("no delivery is in flight", isIdle);
}

/** Discards what waits for suspended dispatchers. */
export async function discardWaiting({ db, settings }: BenchContext): Promise<void> {
  await db.query(CANCEL_WAITING);
  await db.query("delete from sends");
  const redis = new Redis(settings.REDIS_URL as string);
  for (const key of ["{18}:events", "{18}:outbound"]) await redis.xtrim(key, "MAXLEN", 0);
  await redis.quit();
}

/** Starts dispatchers. Events enter through the code with which web records and enqueues them. */
export async function startHeraldEvents(
  context: BenchContext,
  { slots, dispatchers = 1, settings = {}, name = "herald" }: HeraldOptions,
): Promise<EventSystem> {
  const pids: number[] = [];
  const allSettings = { ...settings, DISPATCHER_CONCURRENCY: String(slots) };
  for (let index = 0; index < dispatchers; index++)
    pids.push((await startHerald(context, "dispatcher", /process\.ready/, allSettings)).pid);
  return {
    name,
    processes: { dispatcher: pids, ...(await serverProcesses(context)) },
    ...createEntry(await openProducer(context)),
    async countWritten(firstId) {
      const [row] = await context.db.query<WrittenCounts>(COUNT_WRITTEN, [firstId]);
      return row ?? { done: 0, attempts: 0 };
    },
    ...suspension(...pids),
    clear: (endCalls) => cancelAll(context, endCalls),
  };
}

/** The commit precedes the call of the notifier, whose time is therefore that of the commit. */
function createEntry({ db, events }: HeraldProducer): Pick<EventSystem, "enqueue" | "emit"> {
  return {
    enqueue: (drafts) => recordEvents(db, drafts, events) as Promise<string[]>,
    async emit(draft) {
      let at = 0;
      const notifier: typeof events = {
        ...events,
        notify(refs) {
          at = monotonicMs();
          events.notify(refs);
        },
      };
      const [id] = await recordEvents(db, [draft], notifier);
      if (at === 0) throw new Error("the event was not queued: Redis does not answer");
      return { id: id as string, at };
    },
  };
}
