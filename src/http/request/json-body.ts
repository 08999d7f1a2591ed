import { isUtf8 } from "node:buffer";
import { parseJson } from "../../runtime/json/json.ts";
import { ApiError } from "../api-error.ts";

/**
 * Parses the body as a JSON object, regardless of its Content-Type. An empty body counts as `{}`. Integers beyond 2^53 are
 * bigints, so that they reach the platforms as written.
 */
export function parseJsonBody(bytes: Buffer): Record<string, unknown> {
  if (bytes.length === 0) return {};
  const value = parse(bytes);
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw new ApiError("validation_failed", "The body must be a JSON object");
  return value as Record<string, unknown>;
}

function parse(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new ApiError("validation_failed", "The body is not valid UTF-8");
  try {
    return parseJson(bytes.toString("utf8").replace(/^\ufeff/, ""));
  } catch (cause) {
    // The parser's message is not used: it quotes the body, which may contain a secret.
    throw new ApiError("validation_failed", "The body is not valid JSON", { cause });
  }
}
