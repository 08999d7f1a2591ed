import {
  type Created,
  type OnceOutcome,
  type OperationRun,
  runOnce,
  UNKEYED_RUN,
} from "../../domain/tenants/run-once.ts";
import { errorOf } from "../../http/api-error.ts";
import type { Operation } from "../../http/route.ts";
import type { Log } from "../../runtime/log.ts";
import type { Database } from "../../store/database/database.ts";

interface KeyedRequest {
  caller: { clientId: string };
  operation: Operation | undefined;
}

/** Creates an object at a platform, at most once per Idempotency-Key. */
export async function createOnce<T>(
  parts: { db: Database; log: Log },
  { caller, operation }: KeyedRequest,
  create: (run: OperationRun) => Promise<Created<T>>,
): Promise<T | ReplayedReply> {
  if (!operation) return (await create(UNKEYED_RUN)).reply;
  const keyed = { ...operation, clientId: caller.clientId };
  return replyOf(operation, await runOnce<T>(parts, keyed, create));
}

type ReplayedReply = ReturnType<Operation["replay"]>;

function replyOf<T>(operation: Operation, outcome: OnceOutcome<T>): T | ReplayedReply {
  switch (outcome.outcome) {
    case "done": {
      const { reply, isFound } = outcome.created;
      return isFound ? operation.replayOf(reply) : reply;
    }
    case "completed":
      return operation.replay(outcome.key);
    case "in_progress":
      throw errorOf("idempotency_in_progress");
    case "reused":
      throw errorOf("idempotency_key_reused");
  }
}
