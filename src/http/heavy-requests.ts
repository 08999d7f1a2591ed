import { createShares, type Grant } from "../runtime/async/shares.ts";
import { SECOND } from "../runtime/durations.ts";
import { ApiError, retryAfter } from "./api-error.ts";

/** Limits a kind of request that costs much: a client runs one, or a few, at a time in this process. */
export interface HeavyRequests {
  /** Throws 429 at once while the client runs as many as it may. The grant is released when the request has ended. */
  begin(clientId: string): Grant;
  run<T>(clientId: string, work: () => Promise<T>): Promise<T>;
}

const RETRY_AFTER_MS = 5 * SECOND;

/** `name` is the name in the message: "bulk retry". */
export function createHeavyRequests(name: string, maxPerClient = 1): HeavyRequests {
  const shares = createShares({
    capacity: Number.POSITIVE_INFINITY,
    share: maxPerClient,
    maxWaitingPerKey: 0,
    maxWaitMs: 0,
  });
  function begin(clientId: string): Grant {
    const grant = shares.tryTake(clientId, 1);
    if (grant) return grant;
    const message =
      maxPerClient === 1
        ? `Another ${name} of this client is still in progress`
        : `${maxPerClient} ${name}s of this client are still in progress`;
    throw new ApiError("rate_limited", message, { headers: retryAfter(RETRY_AFTER_MS) });
  }
  return {
    begin,
    async run(clientId, work) {
      const grant = begin(clientId);
      try {
        return await work();
      } finally {
        grant.release();
      }
    },
  };
}
