import { GraphError } from "../wire/graph-error.ts";

/** HTTP statuses of error codes. All other codes use 400. */
const STATUSES: readonly [status: number, codes: readonly number[]][] = [
  [401, [0, 102, 104, 190]],
  [403, [10, 368, 130497, 131005, 131031]],
  [404, [803, 132001]],
  [500, [3, 131000, 131016, 131045, 131057, 133000]],
  [503, [2, 133004]],
];

export function statusOf(code: number): number {
  if (code >= 200 && code <= 299) return 403;
  return STATUSES.find(([, codes]) => codes.includes(code))?.[0] ?? 400;
}

const MESSAGES: Readonly<Record<number, string>> = {
  1: "An unknown error occurred",
  2: "Service temporarily unavailable",
  4: "Application request limit reached",
  10: "Application does not have permission for this action",
  17: "User request limit reached",
  32: "Page request limit reached",
  100: "Invalid parameter",
  190: "Error validating access token",
  613: "Calls to this api have exceeded the rate limit.",
  131026: "Message undeliverable",
  131047: "Re-engagement message",
};

const MIN_CHAT_CODE = 130_000;

/** Builds the platform's error for a code, with the status and fields that belong to the code. */
export function injectedError(code: number, subcode?: number): GraphError {
  const hasUserMessage = code === 100 && subcode !== undefined;
  return new GraphError(
    code,
    `(#${code}) ${MESSAGES[code] ?? "This error was injected by a sandbox fault"}`,
    {
      status: statusOf(code),
      transient: code === 2,
      ...(subcode === undefined ? {} : { subcode }),
      ...(hasUserMessage
        ? {
            userTitle: "Not accepted",
            userMessage: "This error was injected by a sandbox fault. The request itself is valid.",
          }
        : {}),
      ...errorDataOf(code, subcode),
    },
  );
}

/**
 * `error_data` is an object, or its JSON text for an odd subcode. The platform sends both forms, so callers
 * must parse both.
 */
function errorDataOf(code: number, subcode: number | undefined): { data?: unknown } {
  if (code >= MIN_CHAT_CODE)
    return {
      data: { messaging_product: "whatsapp", details: "This error was injected by a sandbox fault." },
    };
  if (code !== 100 || subcode === undefined) return {};
  const data = { blame_field_specs: [["name"]] };
  return { data: subcode % 2 === 0 ? data : JSON.stringify(data) };
}
