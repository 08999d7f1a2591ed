import { SECOND } from "../../runtime/durations.ts";
import type { Database } from "../../store/database/database.ts";
import { findQueueMismatches, type QueueMismatch } from "../../store/events/queue-mismatches.ts";
import { readQueueHold } from "../../store/processes/queue-hold.ts";
import { type Finding, failed, ok, warning } from "./finding.ts";

export async function examineHold(db: Database): Promise<Finding> {
  const { since } = await readQueueHold(db);
  if (since === null) return ok("queue", "not held");
  return warning(
    "queue",
    `held since ${since.toISOString()}: no message is sent and no event delivered`,
    "run herald queue release when they may continue",
  );
}

const MAX_COUNTED_ROWS = 10_000;
const MAX_COUNT_MS = 10 * SECOND;

const MEANINGS: Record<QueueMismatch["kind"], string> = {
  missing: "deliveries without a row in delivery_queue, which are never made",
  orphaned: "rows of delivery_queue without a delivery that is pending or retrying",
  different: "rows of delivery_queue with another client or number of attempts than their delivery",
};

/** Checks that each event that waits for its delivery has a row in delivery_queue, and the reverse. */
export async function examineQueueRows(
  db: Database,
  { limit = MAX_COUNTED_ROWS, timeoutMs = MAX_COUNT_MS } = {},
): Promise<Finding> {
  const mismatches = await findQueueMismatches(db, { limit, timeoutMs });
  if (mismatches === undefined)
    return warning(
      "queue_rows",
      `not compared with the deliveries: that takes longer than ${timeoutMs / SECOND} s`,
      "run herald doctor again when Postgres has less to do",
    );
  if (mismatches.length === 0) return ok("queue_rows", "agree with the deliveries");
  const isLimited = mismatches.reduce((sum, { count }) => sum + count, 0) === limit;
  const parts = mismatches.map(
    ({ kind, count, example }) => `${MEANINGS[kind]}: ${count}, such as ${example}`,
  );
  return failed(
    "queue_rows",
    `${isLimited ? `only ${limit} were counted; ` : ""}${parts.join("; ")}`,
    "repair them as docs/operate/backlog.md says under Rows that disagree",
  );
}
