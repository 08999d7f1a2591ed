/** SQLSTATEs of a server whose disk is full, or that is read-only. */
const WRITE_REFUSAL_CODES = new Set(["53100", "25006"]);

/** Postgres is unreachable or did not answer in time. Nothing was acknowledged. */
export class DatabaseUnavailable extends Error {
  /** True when Postgres may have carried out a write whose answer was lost. */
  readonly mayHaveWritten: boolean;

  constructor(cause: Error, mayHaveWritten = false) {
    const refuses = WRITE_REFUSAL_CODES.has((cause as { code?: string }).code ?? "");
    super(`Postgres ${refuses ? "refuses writes" : "is not available"}: ${cause.message}`, { cause });
    this.name = "DatabaseUnavailable";
    this.mayHaveWritten = mayHaveWritten;
  }
}

/** The process no longer waits for a statement, which may still run. */
export class StatementAbandoned extends DatabaseUnavailable {}

/** A statement waited too long for a connection that other statements of this process used. Nothing was written. */
export class ConnectionsBusy extends DatabaseUnavailable {
  /** True when the caller itself used its whole share of the connections. */
  readonly isOwnShareUsed: boolean;

  constructor(cause: Error, isOwnShareUsed: boolean) {
    super(cause);
    this.name = "ConnectionsBusy";
    this.isOwnShareUsed = isOwnShareUsed;
  }
}

/**
 * Socket error codes, and SQLSTATEs of a server that is starting, stopping, full, read-only or disconnected.
 */
const CONNECTION_ERROR_CODES = new Set([
  ...[
    "ECONNREFUSED",
    "ECONNRESET",
    "ENOTFOUND",
    "EAI_AGAIN",
    "ETIMEDOUT",
    "EPIPE",
    "EHOSTUNREACH",
    "ENETUNREACH",
  ],
  ...[
    "57P01",
    "57P02",
    "57P03",
    "25P03", // the transaction was idle for too long
    ...WRITE_REFUSAL_CODES,
    "53200",
    "53300",
    "08000",
    "08001",
    "08003",
    "08004",
    "08006",
  ],
]);

/** pg reports some lost connections without a code. On a standby, reads of unlogged tables fail as an unsupported feature. */
const CONNECTION_ERROR_MESSAGES =
  /connection terminated|timeout exceeded when trying to connect|query read timeout|connection error|during recovery/i;

/** True when pg gave up the wait for the answer to a statement. */
export const isAbandoned = (error: Error): boolean => /query read timeout/i.test(error.message);

export function isConnectionFault(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: unknown }).code;
  return (
    (typeof code === "string" && CONNECTION_ERROR_CODES.has(code)) ||
    CONNECTION_ERROR_MESSAGES.test(error.message)
  );
}

/** SQLSTATE, and the violated constraint or the column that must not be null. */
interface PostgresError {
  code?: unknown;
  constraint?: unknown;
  column?: unknown;
}

const toPostgresError = (error: unknown): PostgresError => (error ?? {}) as PostgresError;

/** True when Postgres rolled this transaction back to resolve a deadlock: it can be retried. */
export const isDeadlock = (error: unknown): boolean => toPostgresError(error).code === "40P01";

/**
 * True when a row went to the default partition while its own partition was being attached: a retry succeeds.
 */
export const isPartitionConflict = (error: unknown): boolean => {
  const { code, constraint } = toPostgresError(error);
  return code === "23514" && constraint === undefined;
};

/** True when a row references a client that was just deleted while its credentials are still cached. */
export const isDeletedClient = (error: unknown): boolean => {
  const { code, constraint, column } = toPostgresError(error);
  if (code === "23502") return column === "client_id";
  return code === "23503" && typeof constraint === "string" && constraint.endsWith("_client_id_fkey");
};

/** True when a table does not exist: the database's migrations are not applied. */
export const isMissingTable = (error: unknown): boolean => toPostgresError(error).code === "42P01";

/** True when Postgres ended a statement that took longer than its statement_timeout. */
export const isStatementTimeout = (error: unknown): boolean => toPostgresError(error).code === "57014";
