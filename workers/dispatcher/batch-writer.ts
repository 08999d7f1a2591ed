import { createBatcher } from "../../src/runtime/async/batcher.ts";
import { retryUntil } from "../../src/runtime/async/timeouts-and-retries.ts";
import { SECOND } from "../../src/runtime/durations.ts";
import type { Log } from "../../src/runtime/log.ts";
import { createOutageLogger } from "../../src/runtime/log.ts";
import { DatabaseUnavailable } from "../../src/store/database/faults.ts";

/**
 * An outcome is unwritten from `finish` until its batch is committed. While the database is unavailable, the batch is
 * retried and its rows stay leased by this worker. When the database rejects a batch, its rows are written one by one; a
 * rejected row is written again without remote text, and logged when that fails too. `abandon` ends all waiting.
 */

/** Outcomes of calls that end within this time share a statement, because commits are the database's bottleneck. */
const BATCH_WINDOW_MS = 3;
const MAX_BATCH_ROWS = 100;
/** After a crash, events whose outcome is unwritten are delivered twice. */
const MAX_UNWRITTEN_ROWS = 50;

interface OwnedRow {
  client_id: string;
  id: string;
}

interface BatchWriterParts<F extends OwnedRow> {
  /** Kind of the rows, for the log. */
  what: keyof typeof ID_FIELDS;
  /** Writes the rows whose lease still holds and returns their ids. */
  write(finishes: readonly F[]): Promise<readonly string[]>;
  /** Returns the outcome without text from the remote side; undefined when there is none to remove. */
  withoutRemoteText(finish: F): F | undefined;
  /** With this many unwritten outcomes no call is started. */
  maxUnwritten?: number;
  log: Log;
}

export interface BatchWriter<F> {
  /** Resolves when fewer than `maxUnwritten` outcomes are unwritten. */
  waitForDrain(): Promise<void>;
  /** Resolves when the outcome is written or logged as failed, the lease was lost, or the write was abandoned. */
  finish(finish: F): Promise<void>;
  /** Stops waiting for the database: other workers recover the rows when the leases expire. */
  abandon(): void;
}

const ID_FIELDS = { delivery: "event_id", message: "message_id" } as const;

export function createBatchWriter<F extends OwnedRow>(parts: BatchWriterParts<F>): BatchWriter<F> {
  const { what, log, maxUnwritten = MAX_UNWRITTEN_ROWS } = parts;
  const fieldsOf = ({ client_id: client, id }: OwnedRow) => ({ client, [ID_FIELDS[what]]: id });
  const abandoning = new AbortController();
  const abandoned = new Promise<void>((resolve) => {
    abandoning.signal.addEventListener("abort", () => resolve());
  });
  const outageLogger = createOutageLogger(
    log,
    { unavailable: "batch_writer.failed", recovered: "batch_writer.recovered" },
    { what },
  );

  async function write(finishes: readonly F[]): Promise<void> {
    const writtenIds = await retryUntil(() => parts.write(finishes), {
      signal: abandoning.signal,
      firstDelayMs: 200,
      maxDelayMs: 1 * SECOND,
      onFault(error) {
        if (!(error instanceof DatabaseUnavailable)) throw error;
        outageLogger.failed(error);
      },
    });
    if (!writtenIds) return;
    outageLogger.recovered();
    const written = new Set(writtenIds);
    for (const finish of finishes)
      if (!written.has(finish.id)) log.warn(`${what}.lease_lost`, fieldsOf(finish));
  }

  const batcher = createBatcher<F, void>({
    maxItems: MAX_BATCH_ROWS,
    windowMs: BATCH_WINDOW_MS,
    shouldIsolate: () => true,
    async run(finishes) {
      await Promise.race([write(finishes), abandoned]);
      return () => undefined;
    },
  });

  /** Without this, a row that cannot be written would be attempted again without end. */
  async function writeWithoutRemoteText(finish: F, error: unknown): Promise<void> {
    const reduced = parts.withoutRemoteText(finish);
    if (reduced) await finishRow(reduced);
    else log.error(`${what}.write_failed`, { ...fieldsOf(finish), err: error });
  }

  const finishRow = (finish: F): Promise<void> =>
    batcher.add(finish).catch((error) => writeWithoutRemoteText(finish, error));

  return {
    finish: finishRow,
    waitForDrain: () => batcher.waitUntilBelow(maxUnwritten),
    abandon() {
      const count = batcher.size();
      if (count > 0) log.error("batch_writer.abandoned", { what, count });
      abandoning.abort();
    },
  };
}
