import type { Config } from "../../runtime/config/config.ts";
import { MAX_CLOCK_DIFFERENCE_MS, MAX_TRANSACTION_AGE_MS } from "../../runtime/deadlines.ts";
import { MINUTE, SECOND } from "../../runtime/durations.ts";
import { rootCauseMessage } from "../../runtime/errors.ts";
import { createSecretBox } from "../../security/secret-box.ts";
import { measureClock } from "../../store/database/clock.ts";
import { createDatabase, type Database } from "../../store/database/database.ts";
import { inspectMigrations, type MigrationState, PRERELEASE_FIX } from "../../store/database/migrations.ts";
import { findSealedColumns, listKeyUsage } from "../../store/database/sealed-columns.ts";
import { probeWrites } from "../../store/database/write-probe.ts";
import { findQueueMismatches, type QueueMismatch } from "../../store/events/queue-metrics.ts";
import { readOpenTransactions } from "../../store/events/stream-marks.ts";
import { describeHold, readQueueHold } from "../../store/processes/queue-hold.ts";
import { describeWorkers, readWorkerStates } from "../../store/processes/workers.ts";
import { listKeysOfDisabledUsers } from "../../store/tenants/api-keys.ts";
import { tryOpen } from "../secrets.ts";

/** The result of one check. */
export interface Finding {
  check: string;
  status: "ok" | "warning" | "failed";
  message: string;
  /** How to fix the problem; absent when the check passed. */
  fix?: string;
}

export const ok = (check: string, message: string): Finding => ({ check, status: "ok", message });

const problem =
  (status: "warning" | "failed") =>
  (check: string, message: string, fix: string): Finding => ({ check, status, message, fix });

export const failed = problem("failed");
export const warning = problem("warning");

/** How long each server may take to answer. */
export const ANSWER_TIMEOUT_MS = 5 * SECOND;

/** Host and port only: the URL may contain a password. */
const hostOf = (address: string) => new URL(address).host;

/** Checks Postgres, and the migrations, secrets, API keys, workers, the hold and the rows of the queue in it. */
export async function examinePostgres(db: Database, config: Partial<Config>): Promise<Finding[]> {
  const host = hostOf(config.DATABASE_URL as string);
  try {
    await db.ping(ANSWER_TIMEOUT_MS);
  } catch (error) {
    const fix =
      "start the server, create the database, or correct DATABASE_URL (host, password, sslmode, firewall)";
    return [failed("postgres", `${host} cannot be used: ${rootCauseMessage(error)}`, fix)];
  }
  const writes = await examineWrites(db);
  const migrations = await examineMigrations(db, config);
  const rest =
    migrations.status === "ok"
      ? [
          await examineSecrets(db, config),
          await examineApiKeys(db),
          ...(await examineWorkers(db)),
          await examineHold(db),
          await examineQueueRows(db),
        ]
      : [];
  return [ok("postgres", `${host} answers`), writes, migrations, ...rest];
}

async function examineWrites(db: Database): Promise<Finding> {
  try {
    await probeWrites(db);
    return ok("writes", "Postgres accepts them");
  } catch (error) {
    return failed(
      "writes",
      `Postgres refuses them: ${rootCauseMessage(error)}`,
      "free or enlarge its disk, or use the primary in DATABASE_URL",
    );
  }
}

const RESTORE =
  "restore these files as released (herald migrate refuses to run until then) and put the change into a new file in sql/";

/** Checks both URLs: one may be a pooler of the other's database, or they may differ by mistake. */
async function examineMigrations(db: Database, config: Partial<Config>): Promise<Finding> {
  const { DATABASE_URL = "", DATABASE_DIRECT_URL = DATABASE_URL } = config;
  try {
    const [used, direct] = [await inspectMigrations(db), await inspectDirectly(DATABASE_DIRECT_URL)];
    if (used.isPrerelease || direct.isPrerelease)
      return failed("migrations", "the database was created before the first release", PRERELEASE_FIX);
    if (used.changed.length > 0)
      return failed("migrations", `changed after they were applied: ${used.changed.join(", ")}`, RESTORE);
    if (used.pending.length === 0) return ok("migrations", "all applied");
    const fix =
      direct.pending.length > 0
        ? "run herald migrate"
        : "DATABASE_DIRECT_URL points to another database: correct it";
    return failed("migrations", `not applied: ${used.pending.join(", ")}`, fix);
  } catch (error) {
    const fix = "correct DATABASE_DIRECT_URL, which migrations use";
    return failed(
      "migrations",
      `${hostOf(DATABASE_DIRECT_URL)} cannot be used: ${rootCauseMessage(error)}`,
      fix,
    );
  }
}

async function inspectDirectly(DATABASE_URL: string): Promise<MigrationState> {
  const db = createDatabase({ DATABASE_URL, DATABASE_POOL: 1, DATABASE_PREPARED: false }, () => {});
  try {
    return await inspectMigrations(db);
  } finally {
    await db.close();
  }
}

async function examineSecrets(db: Database, { ENCRYPTION_KEYS: keys }: Partial<Config>): Promise<Finding> {
  if (!keys) return failed("secrets", "cannot be checked without ENCRYPTION_KEYS", "fix that setting first");
  const box = createSecretBox(keys);
  let stale = 0;
  for (const column of await findSealedColumns(db))
    for (const { keyId, count, sample } of await listKeyUsage(db, column)) {
      if (tryOpen(box, column, sample) === undefined)
        return failed(
          "secrets",
          `some are encrypted with the key "${keyId}", which ENCRYPTION_KEYS lacks or has with another value`,
          "restore that key in ENCRYPTION_KEYS, after the first key unless it is the first",
        );
      if (keyId !== box.keyId) stale += count;
    }
  if (stale > 0)
    return warning("secrets", `${stale} are encrypted with an older key`, "run herald secrets rotate");
  return ok("secrets", "all can be decrypted with the first key");
}

const MAX_NAMED_KEYS = 5;

/** A key keeps working when the user who created it is disabled. */
export async function examineApiKeys(db: Database): Promise<Finding> {
  const keys = await listKeysOfDisabledUsers(db);
  if (keys.length === 0) return ok("api_keys", "none was created by a user who is disabled now");
  const named = keys.slice(0, MAX_NAMED_KEYS).map(({ id, creator }) => `${id} (${creator})`);
  const rest = keys.length > MAX_NAMED_KEYS ? ` and ${keys.length - MAX_NAMED_KEYS} more` : "";
  return warning(
    "api_keys",
    `${keys.length} in use ${keys.length === 1 ? "was" : "were"} created by users who are disabled now: ${named.join(", ")}${rest}`,
    "check who has them; herald key revoke --id ID revokes one",
  );
}

/** Without a dispatcher the service does not do its work; without a scheduler its jobs are late. */
const WORKERS = {
  dispatcher: { report: failed, consequence: "messages and events are not sent" },
  scheduler: { report: warning, consequence: "token checks and cleanup jobs do not run" },
};

async function examineWorkers(db: Database): Promise<Finding[]> {
  return (await readWorkerStates(db)).map((state) => {
    const { report, consequence } = WORKERS[state.process];
    const message = describeWorkers(state);
    if (state.running > 0) return ok(state.process, message);
    return report(state.process, `${message}; ${consequence}`, "start one; if it stops, its log says why");
  });
}

async function examineHold(db: Database): Promise<Finding> {
  const hold = await readQueueHold(db);
  if (!hold.held) return ok("queue", "not held");
  return warning(
    "queue",
    `${describeHold(hold)}; no message is sent and no event delivered`,
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

export async function examineClock(db: Database): Promise<Finding> {
  const difference = await measureClock(db);
  if (Math.abs(difference) <= MAX_CLOCK_DIFFERENCE_MS) return ok("clock", "agrees with Postgres");
  const seconds = Math.round(Math.abs(difference) / SECOND);
  return failed(
    "clock",
    `${seconds} s ${difference < 0 ? "ahead of" : "behind"} Postgres`,
    "synchronise the clocks of both machines with NTP",
  );
}

/** Whether the event stream sees every transaction that may still commit events. */
export async function examineTransactions(db: Database): Promise<Finding> {
  const { areHidden } = await readOpenTransactions(db);
  if (!areHidden) return ok("transactions", "event streams see the open transactions");
  const minutes = MAX_TRANSACTION_AGE_MS / MINUTE;
  return warning(
    "transactions",
    `the database role may not see the transactions of other roles: event streams read the last ${minutes} minutes of events each time`,
    "grant pg_read_all_stats to the role in DATABASE_URL, and keep track_activities on",
  );
}
