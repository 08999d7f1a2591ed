/**
 * Tables of operations. A row of `idempotency_keys` is committed together with the work, a row of `claimed_operations`
 * before it, because the work is a platform call.
 */
export type OperationTable = "idempotency_keys" | "claimed_operations";

/** An operation identified by an Idempotency-Key. */
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
