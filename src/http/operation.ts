/** An operation that its caller has named. Its row is written by the handler, together with what it does. */
export interface Operation {
  /** Of its row; made from client, route and key. */
  id: string;
  /** Of the body: the same key with another one is a mistake. */
  fingerprint: string;
  /** The reply as it is kept. */
  seal(reply: unknown): string;
  /** The reply that was kept, to be answered again; 422 where it was kept for another body. */
  replay(stored: StoredOperation): ReplayedReply;
}

/** An operation as it was written down. */
interface StoredOperation {
  fingerprint: string;
  reply_sealed: string;
}

export interface StoredReply {
  status: number;
  headers: Record<string, string>;
  body: string | undefined;
}

/** What was answered to an operation at the first time. */
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
