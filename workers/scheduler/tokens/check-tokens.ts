import { setTimeout as sleep } from "node:timers/promises";
import { PlatformFailure } from "../../../src/platforms/errors/failure.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import {
  type ConnectionRow,
  countLeft,
  markChecked,
  nextToCheck,
} from "../../../src/store/ads/ad-connections.ts";
import { type JobTick, JobTrouble } from "../job.ts";
import { AppTrouble } from "./app-errors.ts";
import { checkConnection } from "./check-connection.ts";
import { type CheckParts, type Findings, NOTHING } from "./findings.ts";

const BATCH = 100;
/** Of many connections the calls are spread: so many a second are begun, and so many are under way at once. */
const PER_SECOND = 20;
const AT_ONCE = 4;
/**
 * How much silence in a row means that the platform is away. That it does not tell of a token weighs more than that it does not
 * list its accounts: those may be many, of one client, and the others must be looked at too.
 */
const PATIENCE = 50;
const WEIGHTS = { "no answer": 10, pause: PATIENCE } as const;

/**
 * Looks at every connection once in a tick, the longest unseen first. One that is stopped, by its process or by the
 * platform's pauses, goes on there: whoever runs the same tick again, or the next.
 */
export async function checkTokens(
  parts: CheckParts,
  { scheduledAt, signal }: JobTick,
): Promise<Record<string, number>> {
  const totals = { checked: 0, failed: 0, ...NOTHING };
  const seen = new Set<string>();
  let silence = 0;
  let trouble: Error | undefined;
  const isOver = () => signal.aborted || silence >= PATIENCE;

  async function look(connection: ConnectionRow): Promise<void> {
    const findings = await checkConnection(parts, connection);
    for (const name of Object.keys(findings) as (keyof Findings)[]) totals[name] += findings[name];
    totals.checked += 1;
    if (!isOver()) silence = 0;
  }

  async function check(connection: ConnectionRow): Promise<void> {
    seen.add(connection.id);
    try {
      await look(connection);
    } catch (error) {
      if (isOver()) return; // for what another met; it comes before those that were looked at
      trouble = error as Error;
      silence = weightOf(error) === 0 ? 0 : silence + weightOf(error);
      if (error instanceof AppTrouble && error.kind === "pause") return;
      totals.failed += 1;
      tell(parts, connection, error);
    }
    await markChecked(parts.db, connection.id, scheduledAt);
  }

  while (!isOver()) {
    const batch = await nextToCheck(parts.db, scheduledAt, BATCH);
    // Somebody may be at another tick, after a scheduler came back from the dead: each looks at each once.
    const unseen = batch.filter(({ id }) => !seen.has(id));
    if (unseen.length === 0) break;
    await spread(unseen, check, isOver);
  }
  signal.throwIfAborted();
  const counts = { ...totals, left: isOver() ? await countLeft(parts.db, scheduledAt) : 0 };
  // The operator should not read that all is well where nothing was found out, or not the rest.
  if (trouble && (isOver() || totals.checked === 0))
    throw new JobTrouble(trouble.message, counts, { cause: trouble });
  return counts;
}

function weightOf(error: unknown): number {
  if (error instanceof AppTrouble) return WEIGHTS[error.kind];
  const isSilent = error instanceof PlatformFailure && SILENT.includes(error.code);
  return isSilent ? 1 : 0;
}

const SILENT: readonly string[] = ["platform_unavailable", "platform_timeout"];

function tell(
  { log }: CheckParts,
  { id: connection, client_id: client }: ConnectionRow,
  error: unknown,
): void {
  const failure = error instanceof AppTrouble ? error.failure : error;
  const why = failure instanceof PlatformFailure ? { error: failure.code } : { err: failure };
  log.warn("ad_connection.not_checked", { client, connection, ...why });
}

/** In lanes that all stop when one of them fails, before it is said that they have. */
async function spread<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
  isOver: () => boolean,
): Promise<void> {
  const waiting = [...items];
  const lane = async () => {
    for (let item = waiting.shift(); item !== undefined && !isOver(); item = waiting.shift()) {
      const turn = sleep((AT_ONCE * SECOND) / PER_SECOND);
      await work(item);
      if (waiting.length > 0) await turn;
    }
  };
  const stopAll = (error: unknown) => {
    waiting.length = 0;
    throw error;
  };
  const lanes = await Promise.allSettled(Array.from({ length: AT_ONCE }, () => lane().catch(stopAll)));
  for (const end of lanes) if (end.status === "rejected") throw end.reason;
}
