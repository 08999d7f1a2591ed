import { findExceededLimit, type JsonLimits } from "../../runtime/json/json-limits.ts";
import { toPointer } from "../../schema/problems.ts";
import { ApiError, invalidField } from "../api-error.ts";
import { isRawBody, type Route } from "../route.ts";

const KIB = 1_024;
export const MIB = 1_024 * KIB;

const MAX_BODY_BYTES = 10 * MIB;
/** For routes without a credential, to which anyone can send. */
const MAX_PUBLIC_BODY_BYTES = 16 * KIB;

export function bodyLimitOf({ body, scope }: Route): number {
  if (isRawBody(body)) return body.limit;
  return scope === "public" ? MAX_PUBLIC_BODY_BYTES : MAX_BODY_BYTES;
}

const MAX_JSON_DEPTH = 100;
const MAX_JSON_VALUES = 50_000;

/** Throws a 400 for a JSON body whose parsing or validation could take long. */
export function assertJsonLimits(bytes: Buffer, { maxFieldBytes }: Pick<Route, "maxFieldBytes">): void {
  const limits: JsonLimits = { maxDepth: MAX_JSON_DEPTH, maxValues: MAX_JSON_VALUES, maxFieldBytes };
  const exceeded = findExceededLimit(bytes, limits);
  if (exceeded === undefined) return;
  switch (exceeded.limit) {
    case "depth":
      throw new ApiError("validation_failed", `The body is nested deeper than ${MAX_JSON_DEPTH} levels`);
    case "values":
      throw new ApiError("validation_failed", `The body has more than ${MAX_JSON_VALUES} values`);
    case "field":
      throw invalidField(
        toPointer([exceeded.name]),
        `${exceeded.name} must have at most ${maxFieldBytes} bytes`,
      );
  }
}
