/** An attempt to send a message to its platform, without its number. */
export interface PlatformAttempt {
  /** When the first request was made, in ISO 8601. */
  at: string;
  outcome: "accepted" | "rejected" | "retry" | "unknown";
  /** Of the last response; null without one. */
  status_code: number | null;
  /** Null when the dispatcher died before it measured it. */
  duration_ms: number | null;
  /** Why the message was rejected, is retried or has an unknown outcome, as JSON. */
  error: string | null;
}

/** A stored attempt; keys that are absent mean null. */
export type StoredAttempt = Partial<PlatformAttempt> &
  Pick<PlatformAttempt, "at" | "outcome"> & { attempt: number };

/** The retries of a day are fewer; a message that exceeds this keeps its first attempt and the last ones. */
const MAX_STORED_ATTEMPTS = 100;

/** SQL: the attempts with one more, which is a jsonb object. */
export const appendAttempt = (attempts: string, attempt: string): string => `
      case
        when jsonb_array_length(${attempts}) >= ${MAX_STORED_ATTEMPTS} then ${attempts} - 1
        else ${attempts}
      end || ${attempt}`;
