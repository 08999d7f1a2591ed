import type { IncomingHttpHeaders } from "node:http";
import { collectInSlices } from "../runtime/async/time-slices.ts";
import { withTimeout } from "../runtime/async/timeouts-and-retries.ts";
import { FIRST_REPLY_TIMEOUT_MS } from "../runtime/deadlines.ts";
import { uuidOf } from "../runtime/ids.ts";
import { canonicalJson, stringifyJson } from "../runtime/json/json.ts";
import { type SecretBox, sealedContext } from "../security/secret-box.ts";
import { findStoredFingerprint } from "../store/tenants/idempotency-keys.ts";
import { errorOf, invalidField } from "./api-error.ts";
import { ReplayedReply, type StoredReply } from "./reply.ts";
import { type Operation, type OperationTable, type Route, statusOf } from "./route.ts";

const HEADER = "idempotency-key";

/**
 * Undefined without the header, 400 for an invalid key or when a required one is missing. A repeated header arrives joined by
 * ", " and is invalid.
 */
export function readIdempotencyKey(headers: IncomingHttpHeaders, isRequired = false): string | undefined {
  const key = headers[HEADER];
  if (key === undefined && isRequired)
    throw invalidField(
      "/Idempotency-Key",
      "Idempotency-Key is required: a repeated request must not send twice",
    );
  if (key === undefined) return undefined;
  if (typeof key === "string" && /^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw invalidField("/Idempotency-Key", "Idempotency-Key must have 1 to 255 visible ASCII characters");
}

export type HandlerContext = Parameters<Route["handle"]>[0];

/** Handles a request that carries an Idempotency-Key. */
export type Idempotency = (route: Route, context: HandlerContext, key: string) => Promise<unknown>;

interface RunningOperation {
  fingerprint: string;
  /** Resolves to undefined when the request failed. */
  result: Promise<{ value: unknown } | undefined>;
}

/**
 * Within a process, requests with the same key run one at a time: the others wait for the reply, and the next
 * one runs if it fails; another body is refused at once. Between processes the stored row decides, which the handler
 * commits with its work. It also decides when the running request is the one with another body.
 */
export function createIdempotency(box: SecretBox): Idempotency {
  const running = new Map<string, RunningOperation>();

  return async (route, context, key) => {
    const operation = await operationOf({ route, box, key, caller: context.caller, body: context.body });
    const { id, fingerprint } = operation;
    const deadline = Date.now() + FIRST_REPLY_TIMEOUT_MS;
    for (let first = running.get(id); first; first = running.get(id)) {
      const isSame = first.fingerprint === fingerprint;
      if (!isSame && (await storedFingerprint(route, context, id)) !== fingerprint)
        throw errorOf("idempotency_key_reused");
      const known = await withTimeout(Math.max(0, deadline - Date.now()), first.result, throwInProgress);
      if (known && isSame) return toReplayedReply(route, known.value);
    }
    context.operation = operation;
    const work = Promise.resolve(route.handle(context));
    const result = work.then(
      (value) => ({ value }),
      () => undefined,
    );
    running.set(id, { fingerprint, result: result.finally(() => running.delete(id)) });
    return work;
  };
}

const storedFingerprint = ({ idempotent }: Route, { db, caller }: HandlerContext, id: string) =>
  findStoredFingerprint(db, caller?.clientId ?? "", { table: idempotent as OperationTable, id });

function throwInProgress(): never {
  throw errorOf("idempotency_in_progress");
}

function requireSameFingerprint<K extends { fingerprint: string }>({ fingerprint }: Operation, known: K): K {
  if (known.fingerprint === fingerprint) return known;
  throw errorOf("idempotency_key_reused");
}

const toReplayedReply = (route: Route, value: unknown): ReplayedReply =>
  value instanceof ReplayedReply ? value : new ReplayedReply(toStoredReply(route, value));

const toStoredReply = (route: Route, value: unknown): StoredReply => ({
  status: statusOf(route, value),
  headers: route.location ? { Location: route.location(value) } : {},
  body: route.reply ? stringifyJson(value) : undefined,
});

interface OperationInput {
  route: Route;
  box: SecretBox;
  key: string;
  caller: HandlerContext["caller"];
  body: unknown;
}

async function operationOf({ route, box, key, caller, body }: OperationInput): Promise<Operation> {
  const table = route.idempotent as OperationTable; // only such routes have operations
  const id = uuidOf(JSON.stringify([caller?.clientId, route.method, route.path, key]));
  const sealingContext = sealedContext({ table, column: "reply_sealed", id });
  const operation: Operation = {
    id,
    fingerprint: await fingerprintOf(body),
    seal: (reply) => box.seal(JSON.stringify(toStoredReply(route, reply)), sealingContext),
    replayOf: (reply) => toReplayedReply(route, reply),
    replay(stored) {
      const { reply_sealed } = requireSameFingerprint(operation, stored);
      return new ReplayedReply(JSON.parse(box.open(reply_sealed, sealingContext)));
    },
  };
  return operation;
}

async function fingerprintOf(body: unknown): Promise<string> {
  const pieces = await collectInSlices(canonicalJson(body));
  return uuidOf(pieces.join(""));
}
