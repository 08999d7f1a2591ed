import { pause } from "../../src/runtime/async/pause.ts";
import { SECOND } from "../../src/runtime/durations.ts";
import type { Log } from "../../src/runtime/logging/log.ts";
import { createOutageLogger } from "../../src/runtime/logging/outage-logger.ts";
import { DatabaseUnavailable } from "../../src/store/database/faults.ts";

/** Few milliseconds, in which others come to their end too. */
const BATCH_WINDOW_MS = 3;
const MAX_BATCH_ROWS = 100;

/** What is written down, and whose it is. */
interface OwnedRow {
  client_id: string;
  id: string;
}

interface BatchWriterParts<F extends OwnedRow> {
  /** For the log: what it is that comes to an end. */
  what: "delivery" | "message";
  /** Answers whose lease still held. */
  write(finishes: readonly F[]): Promise<readonly string[]>;
  /** Without anything that others have said; undefined where nothing can be left out any more. */
  withoutRemoteText(finish: F): F | undefined;
  log: Log;
}

interface PendingWrite<F> {
  finish: F;
  resolve(): void;
}

/** So many may be told and not written down yet before nothing more is begun: after a crash those are told twice. */
const MAX_UNWRITTEN_ROWS = 10;

export interface BatchWriter<F> {
  /** Waits until hardly anything is left to write down. */
  waitForDrain(): Promise<void>;
  /** Resolves once it is written down, or somebody else holds the lease, or it was given up. */
  finish(finish: F): Promise<void>;
  /** Waits for the database no longer. */
  abandon(): void;
}

/** Writes down many endings in one statement: the database's commits are what limits us. */
export function createBatchWriter<F extends OwnedRow>({
  what,
  log,
  ...parts
}: BatchWriterParts<F>): BatchWriter<F> {
  let waiting: PendingWrite<F>[] = [];
  let busy = false;
  let unwritten = 0;
  let drainWaiters: (() => void)[] = [];
  const outageLogger = createOutageLogger(
    log,
    { unavailable: "batch_writer.failed", recovered: "batch_writer.recovered" },
    { what },
  );
  const logFieldsOf = ({ client_id: client, id }: OwnedRow) => ({ client, [ID_FIELDS[what]]: id });
  const abandoning = new AbortController();
  const abandoned = new Promise<void>((resolve) => {
    abandoning.signal.addEventListener("abort", () => resolve());
  });

  async function flush(): Promise<void> {
    busy = true;
    await pause(BATCH_WINDOW_MS);
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MAX_BATCH_ROWS);
      waiting = waiting.slice(MAX_BATCH_ROWS);
      await Promise.race([write(batch.map(({ finish }) => finish)), abandoned]);
      for (const { resolve } of batch) resolve();
      unwritten -= batch.length;
      if (unwritten >= MAX_UNWRITTEN_ROWS) continue;
      for (const resume of drainWaiters) resume();
      drainWaiters = [];
    }
    busy = false;
  }

  /** As long as the database is away, its rows are in our hands; what it refuses is tried one by one. */
  async function write(finishes: readonly F[]): Promise<void> {
    for (let delay = 200; !abandoning.signal.aborted; delay = Math.min(delay * 2, 1 * SECOND))
      try {
        const leasedIds = new Set(await parts.write(finishes));
        outageLogger.recovered();
        const lost = finishes.filter(({ id }) => !leasedIds.has(id));
        for (const finish of lost) log.warn(`${what}.lease_lost`, logFieldsOf(finish));
        return;
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) return writeOneByOne(finishes, error);
        outageLogger.failed(error);
        await pause(delay, abandoning.signal);
      }
  }

  /** One that cannot be written must not keep its neighbours from it, nor come again for ever. */
  async function writeOneByOne(finishes: readonly F[], error: unknown): Promise<void> {
    if (finishes.length > 1) for (const finish of finishes) await write([finish]);
    else for (const finish of finishes) await writeWithoutRemoteText(finish, error);
  }

  async function writeWithoutRemoteText(finish: F, error: unknown): Promise<void> {
    const reduced = parts.withoutRemoteText(finish);
    if (reduced) await write([reduced]);
    else log.error(`${what}.write_failed`, { ...logFieldsOf(finish), err: error });
  }

  return {
    async waitForDrain() {
      while (unwritten >= MAX_UNWRITTEN_ROWS) await new Promise<void>((resume) => drainWaiters.push(resume));
    },
    abandon() {
      if (unwritten > 0) log.error("batch_writer.abandoned", { what, count: unwritten });
      abandoning.abort();
    },
    finish: (finish) =>
      new Promise<void>((resolve) => {
        unwritten += 1;
        waiting.push({ finish, resolve });
        if (!busy) void flush();
      }),
  };
}

const ID_FIELDS = { delivery: "event_id", message: "message_id" } as const;
