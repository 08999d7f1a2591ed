/** Postgres does not answer. The API says 503 and the caller may try again; nothing was acknowledged. */
export class DatabaseUnavailable extends Error {
  constructor(cause: Error) {
    super(`Postgres is not available: ${cause.message}`, { cause });
    this.name = "DatabaseUnavailable";
  }
}

/** Socket errors, and SQLSTATEs by which the server says that it is going, coming, full or unreachable. */
const CODES = new Set([
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
  ...["57P01", "57P02", "57P03", "53300", "08000", "08001", "08003", "08004", "08006"],
]);

/** pg reports some losses without a code. */
const MESSAGES =
  /connection terminated|timeout exceeded when trying to connect|query read timeout|connection error/i;

export function isConnectionFault(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: unknown }).code;
  return (typeof code === "string" && CODES.has(code)) || MESSAGES.test(error.message);
}

/** A statement names a table that the database does not have: its migrations are not applied. */
export const isMissingTable = (error: unknown): boolean =>
  (error as { code?: unknown } | null)?.code === "42P01";
