/** Postgres does not answer. The API says 503 and the caller may try again; nothing was acknowledged. */
export class DatabaseUnavailable extends Error {
  constructor(cause: Error) {
    super(`Postgres is not available: ${cause.message}`, { cause });
    this.name = "DatabaseUnavailable";
  }
}

/** Socket errors, and SQLSTATEs by which the server says that it is going, coming, full, only a replica or unreachable. */
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
    "53100",
    "53200",
    "53300",
    "25006",
    "08000",
    "08001",
    "08003",
    "08004",
    "08006",
  ],
]);

/** pg reports some losses without a code. */
const CONNECTION_ERROR_MESSAGES =
  /connection terminated|timeout exceeded when trying to connect|query read timeout|connection error/i;

export function isConnectionFault(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: unknown }).code;
  return (
    (typeof code === "string" && CONNECTION_ERROR_CODES.has(code)) ||
    CONNECTION_ERROR_MESSAGES.test(error.message)
  );
}

/** SQLSTATE, and the constraint that was hurt. */
interface PostgresError {
  code?: unknown;
  constraint?: unknown;
}

const toPostgresError = (error: unknown): PostgresError => (error ?? {}) as PostgresError;

/** Two transactions waited for each other and this one was given up: nothing of it has happened. */
export const isDeadlock = (error: unknown): boolean => toPostgresError(error).code === "40P01";

/** A row was on its way to the default partition while one of its own was attached: there is room for it now. */
export const isPartitionConflict = (error: unknown): boolean => {
  const { code, constraint } = toPostgresError(error);
  return code === "23514" && constraint === undefined;
};

/** A row names a client that was erased a moment ago, while its credentials are still remembered. */
export const isDeletedClient = (error: unknown): boolean => {
  const { code, constraint } = toPostgresError(error);
  return code === "23503" && typeof constraint === "string" && constraint.endsWith("_client_id_fkey");
};

/** A statement names a table that the database does not have: its migrations are not applied. */
export const isMissingTable = (error: unknown): boolean => toPostgresError(error).code === "42P01";
