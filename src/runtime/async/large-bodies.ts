import { SECOND } from "../durations.ts";
import { createShares } from "../shares.ts";

/** The key of the webhook endpoint in shares. Its large bodies are parsed before those of clients. */
export const WEBHOOK_KEY = "webhook";

/**
 * Large bodies are scanned and parsed one at a time, in turn between their senders: the event loop is blocked meanwhile.
 * Process-wide, because the event loop is.
 */
export const largeBodies = createShares({
  capacity: 1,
  maxWaitingPerKey: Number.POSITIVE_INFINITY, // the memory for bodies limits their number
  maxWaitMs: 10 * SECOND,
  firstKey: WEBHOOK_KEY,
});
