/**
 * An operation identified by an Idempotency-Key. The handler commits its row together with its work, or before it when
 * the work is a platform call.
 */
export interface Operation {
  /** Id of its row, derived from client, route and key. */
  id: string;
  /** Hash of the body: the same key with a different body is rejected. */
  fingerprint: string;
  /** Encrypts the reply for storage. */
  seal(reply: unknown): string;
  /** Marks a reply to a repeated request. */
  replayOf(reply: unknown): ReplayedReply;
  /** Returns the stored reply; throws a 422 when it was stored for a different body. */
  replay(stored: StoredOperation): ReplayedReply;
}

/** The stored row of an operation. */
interface StoredOperation {
  fingerprint: string;
  reply_sealed: string;
}

export interface StoredReply {
  status: number;
  headers: Record<string, string>;
  body: string | undefined;
}

/** The first reply to an operation, returned again. */
export class ReplayedReply {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
  readonly type = "application/json; charset=utf-8";

  constructor({ status, headers, body }: StoredReply) {
    this.status = status;
    this.headers = { ...headers, "Idempotent-Replay": "true" };
    this.body = body;
  }
}
