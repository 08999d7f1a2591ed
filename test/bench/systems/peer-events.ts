import { type EventDraft, toNewEvent } from "../../../src/domain/events/record-events.ts";
import { newId } from "../../../src/runtime/ids.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { monotonicMs } from "../clock.ts";
import type { BenchContext } from "../frame/context.ts";
import { serverProcesses } from "../frame/cpu.ts";
import { startProgram } from "../frame/processes.ts";
import { DELIVERY_TABLES, type DeliveryJob } from "../peers/delivery-tables.ts";
import { chunksOf, suspension, type WrittenCounts } from "./backlog-system.ts";
import type { Destination } from "./destinations.ts";
import type { EventSystem } from "./event-system.ts";

interface PeerOptions {
  name: string;
  /** The program of its worker, and what it must know. */
  program: string;
  slots: number;
  settings?: Record<string, string>;
  /** Adds jobs for committed events to its queue. */
  addJobs(jobs: readonly DeliveryJob[]): Promise<unknown>;
  polls?: boolean;
  clear?: EventSystem["clear"];
}

const INSERT_EVENTS = `
  insert into peer_events (id, client_id, type, payload)
  select * from unnest($1::text[], $2::uuid[], $3::text[], $4::text[])`;

const COUNT_WRITTEN = `
  select
    (select count(*) from peer_attempts where event_id >= $1 and error is null)::integer as done,
    (select count(*) from peer_attempts where event_id >= $1)::integer as attempts`;

const MAX_BATCH_ROWS = 1_000;

/** Creates the tables of the peers; their destinations are those of Herald. */
export async function makePeerTables(
  context: BenchContext,
  destinations: readonly Destination[],
): Promise<void> {
  for (const statement of DELIVERY_TABLES) await context.db.query(statement);
  await addPeerDestinations(context, destinations);
}

export const addPeerDestinations = ({ db }: BenchContext, destinations: readonly Destination[]) =>
  db.query(
    `insert into peer_destinations (client_id, url, secret)
    select * from unnest($1::uuid[], $2::text[], $3::text[])
    on conflict (client_id) do nothing`,
    [
      destinations.map(({ clientId }) => clientId),
      // The address of a received message below Herald's webhook_url.
      destinations.map(({ url }) => `${url}/chat/receiveMessage`),
      destinations.map(({ secret }) => secret),
    ],
  );

/** Starts a peer's worker; its tables must exist. Events are committed first and then added to its queue. */
export async function startPeerEvents(context: BenchContext, options: PeerOptions): Promise<EventSystem> {
  const { db } = context;
  const { pid } = await startProgram(context, options.program, {
    SLOTS: String(options.slots),
    ...options.settings,
  });
  return {
    name: options.name,
    processes: { peer: pid, ...(await serverProcesses(context)) },
    async enqueue(drafts) {
      const jobs = drafts.map(toJob);
      for (const batch of chunksOf(jobs, MAX_BATCH_ROWS)) {
        await insertEvents(db, batch);
        await options.addJobs(batch);
      }
      return jobs.map(({ id }) => id);
    },
    async emit(draft) {
      const job = toJob(draft);
      await insertEvents(db, [job]);
      const at = monotonicMs();
      await options.addJobs([job]);
      return { id: job.id, at };
    },
    async countWritten(firstId) {
      const [row] = await db.query<WrittenCounts>(COUNT_WRITTEN, [firstId]);
      return row ?? { done: 0, attempts: 0 };
    },
    ...suspension(pid),
    polls: options.polls ?? false,
    ...(options.clear ? { clear: options.clear } : {}),
  };
}

/** The body is Herald's, byte for byte. */
function toJob(draft: EventDraft): DeliveryJob {
  const { id, client_id: clientId, type, payload } = toNewEvent(newId("evt"), draft);
  return { id, clientId, type, payload };
}

const insertEvents = (db: Database, jobs: readonly DeliveryJob[]) =>
  db.query(INSERT_EVENTS, [
    jobs.map(({ id }) => id),
    jobs.map(({ clientId }) => clientId),
    jobs.map(({ type }) => type),
    jobs.map(({ payload }) => payload),
  ]);
