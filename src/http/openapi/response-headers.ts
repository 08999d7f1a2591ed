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

/** The headers of our answers that a developer should know. */
const HEADERS = {
  "X-Request-Id": text(
    "Names this request in our log; your own value, where you sent one of 1 to 128 visible ASCII characters.",
    "req_01jc8m4t7v2x5k9w3r6y1b0nqd",
  ),
  "X-Api-Version": text("The version of this interface.", API_VERSION),
  "RateLimit-Limit": count("Requests that the client may make in a minute.", 12_000),
  "RateLimit-Remaining": count("Requests that are left in this minute.", 11_984),
  "RateLimit-Reset": count("Seconds until the count begins anew.", 42),
  "Retry-After": count("Seconds after which another try makes sense.", 5),
  Location: text("Where it can be read.", "/api/outbound/messages/msg_01jc8m4t7v2x5k9w3r6y1b0nqd"),
  "Idempotent-Replay": text(
    "`true` where this is the first answer to an operation that was repeated; else absent.",
    "true",
  ),
  "WWW-Authenticate": text("The kinds of credential that are taken.", "Bearer"),
} as const;

export type HeaderName = keyof typeof HEADERS;

/** On every answer, whatever its status. */
export const COMMON_HEADERS = ["X-Request-Id", "X-Api-Version"] as const;

export const RATE_LIMIT_HEADERS = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"] as const;

/** The headers of one response, by reference. */
export const describeHeaders = (names: readonly HeaderName[], components: Components): Json =>
  Object.fromEntries(names.map((name) => [name, components.share("headers", name, HEADERS[name])]));
