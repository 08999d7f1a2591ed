import { API_VERSION } from "../../schema/version.ts";
import type { Components, Json } from "./components.ts";

const text = (description: string, example: string): Json => ({
  description,
  schema: { type: "string" },
  example,
});

const count = (description: string, example: number): Json => ({
  description,
  schema: { type: "integer", minimum: 0 },
  example,
});

/** The response headers that the documentation describes. */
const HEADERS = {
  "X-Request-Id": text(
    "Id of this request in Herald's log: your own `X-Request-Id` if you sent 1 to 128 visible ASCII characters, otherwise a generated one.",
    "req_01jc8m4t7v2x5k9w3r6y1b0nqd",
  ),
  "X-Api-Version": text("The version of this API.", API_VERSION),
  "RateLimit-Limit": count("Requests that the client may make per minute.", 12_000),
  "RateLimit-Remaining": count("Requests left in the current minute.", 11_984),
  "RateLimit-Reset": count("Seconds until the count starts again.", 42),
  "Retry-After": count("Seconds to wait before the next attempt.", 5),
  Location: text("Path of the created object.", "/api/outbound/messages/msg_01jc8m4t7v2x5k9w3r6y1b0nqd"),
  "Idempotent-Replay": text(
    "`true` when this is the stored first response to the same Idempotency-Key; otherwise absent.",
    "true",
  ),
  ETag: text(
    "Identifies this body. Send it as `If-None-Match` to get 304 without a body while nothing has changed.",
    '"3f0c9a52-6b1e-4d47-9c58-2a7e10b6d4f3"',
  ),
  "WWW-Authenticate": text("The accepted kinds of credential.", "Bearer"),
} as const;

export type HeaderName = keyof typeof HEADERS;

/** Headers of every response, regardless of its status. */
export const COMMON_HEADERS = ["X-Request-Id", "X-Api-Version"] as const;

export const RATE_LIMIT_HEADERS = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"] as const;

/** References to the headers of one response. */
export const describeHeaders = (names: readonly HeaderName[], components: Components): Json =>
  Object.fromEntries(names.map((name) => [name, components.share("headers", name, HEADERS[name])]));
