import { findExceededLimit, type JsonLimits } from "../../runtime/json/json-limits.ts";
import { MAX_NUMBER_CHARS } from "../../runtime/json/read-exact.ts";
import { toPointer } from "../../schema/problems.ts";
import { ApiError, invalidField } from "../api-error.ts";
import { isRawBody, isStreamBody, MAX_BODY_BYTES, type Route } from "../route.ts";
import type { BodyPartName } from "./raw-body.ts";

const KIB = 1_024;
export const MIB = 1_024 * KIB;

/** For routes without a credential, to which anyone can send. */
const MAX_PUBLIC_BODY_BYTES = 16 * KIB;

export function bodyLimitOf({ body, scope }: Route): number {
  if (isRawBody(body)) return body.limit;
  return scope === "public" ? MAX_PUBLIC_BODY_BYTES : MAX_BODY_BYTES;
}

/** The part of the memory for bodies that the bodies of a route use. A streamed body goes on to a platform. */
export function bodyPartOf({ body, scope }: Route): BodyPartName {
  if (isStreamBody(body)) return "handedOn";
  return (isRawBody(body) && body.part) || (scope === "public" ? "public" : "clients");
}

const JSON_LIMITS: JsonLimits = { maxDepth: 100, maxValues: 50_000, maxNumberChars: MAX_NUMBER_CHARS };

/** Throws a 400 for a JSON body whose parsing or validation could take long. */
export function assertJsonLimits(bytes: Buffer, { maxFieldBytes }: Pick<Route, "maxFieldBytes">): void {
  const exceeded = findExceededLimit(bytes, { ...JSON_LIMITS, maxFieldBytes });
  if (exceeded === undefined) return;
  switch (exceeded.limit) {
    case "depth":
      throw new ApiError(
        "validation_failed",
        `The body is nested deeper than ${JSON_LIMITS.maxDepth} levels`,
      );
    case "values":
      throw new ApiError("validation_failed", `The body has more than ${JSON_LIMITS.maxValues} values`);
    case "number":
      throw new ApiError(
        "validation_failed",
        `The body has a number of more than ${JSON_LIMITS.maxNumberChars} characters`,
      );
    case "field":
      throw invalidField(
        toPointer([exceeded.name]),
        `${exceeded.name} must have at most ${maxFieldBytes} bytes`,
      );
  }
}
