import type { IncomingHttpHeaders } from "node:http";
import { within } from "../runtime/async/with-timeout.ts";
import { SECOND } from "../runtime/durations.ts";
import { ApiError, invalidField } from "../runtime/errors.ts";
import { uuidOf } from "../runtime/ids.ts";
import { canonicalJson } from "../runtime/json/canonical-json.ts";
import { stringifyJson } from "../runtime/json/json.ts";
import { type SecretBox, sealedContext } from "../security/secret-box.ts";
import { FirstReply, type KeptReply, type Operation } from "./operation.ts";
import { type Route, statusOf } from "./route.ts";

const HEADER = "idempotency-key";

/** The key of a request, undefined where it has none; 400 where it is none. A header that stands twice has a space in it. */
export function keyIn(headers: IncomingHttpHeaders): string | undefined {
  const key = headers[HEADER];
  if (key === undefined) return undefined;
  if (typeof key === "string" && /^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw invalidField("/Idempotency-Key", "Idempotency-Key must have 1 to 255 visible ASCII characters");
}

/** How long a repetition waits for the first one. */
const PATIENCE = 2 * SECOND;

export type HandlerContext = Parameters<Route["handle"]>[0];

/** Answers a request that names its operation. */
export type Idempotency = (route: Route, context: HandlerContext, key: string) => Promise<unknown>;

interface Outcome {
  fingerprint: string;
  value: unknown;
}

/**
 * In this process one of an operation works at a time, and the others wait for its reply; when it fails, the next one is the
 * first. Between processes the row decides, which is there once the work is done.
 */
export function createIdempotency(box: SecretBox): Idempotency {
  /** Undefined for one that has failed. */
  const atWork = new Map<string, Promise<Outcome | undefined>>();

  return async (route, context, key) => {
    const operation = operationOf({ route, box, key, caller: context.caller, body: context.body });
    const { id, fingerprint } = operation;
    const deadline = Date.now() + PATIENCE;
    for (let first = atWork.get(id); first; first = atWork.get(id)) {
      const outcome = await within(Math.max(0, deadline - Date.now()), first, stillAtWork);
      if (outcome) return firstReply(route, sameOperation(operation, outcome).value);
    }
    context.operation = operation;
    const work = Promise.resolve(route.handle(context));
    const end = (outcome?: Outcome) => {
      atWork.delete(id);
      return outcome;
    };
    const settled = work.then(
      (value) => end({ fingerprint, value }),
      () => end(),
    );
    atWork.set(id, settled);
    return work;
  };
}

function stillAtWork(): never {
  throw new ApiError("idempotency_in_progress", "A request with this Idempotency-Key is still at work");
}

function sameOperation<K extends { fingerprint: string }>({ fingerprint }: Operation, known: K): K {
  if (known.fingerprint === fingerprint) return known;
  throw new ApiError(
    "idempotency_key_reused",
    "This Idempotency-Key belongs to a request with other content",
  );
}

const firstReply = (route: Route, value: unknown): FirstReply =>
  value instanceof FirstReply ? value : new FirstReply(kept(route, value));

const kept = (route: Route, value: unknown): KeptReply => ({
  status: statusOf(route, value),
  headers: route.location ? { Location: route.location(value) } : {},
  body: route.reply ? stringifyJson(value) : undefined,
});

interface Named {
  route: Route;
  box: SecretBox;
  key: string;
  caller: HandlerContext["caller"];
  body: unknown;
}

function operationOf({ route, box, key, caller, body }: Named): Operation {
  const id = uuidOf(JSON.stringify([caller?.clientId, route.method, route.path, key]));
  const place = sealedContext({ table: "idempotency_keys", column: "reply_sealed", id });
  const operation: Operation = {
    id,
    fingerprint: uuidOf(canonicalJson(body)),
    seal: (reply) => box.seal(JSON.stringify(kept(route, reply)), place),
    repeat(known) {
      const { reply_sealed } = sameOperation(operation, known);
      return new FirstReply(JSON.parse(box.open(reply_sealed, place)));
    },
  };
  return operation;
}
