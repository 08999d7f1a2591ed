import type { DeliveryError } from "../schema/history/stored-errors.ts";

/** Texts that tenants read, by error code; the first match applies. */
const ERROR_TEXTS: readonly [RegExp, DeliveryError][] = [
  [/^ADDRESS_NOT_ALLOWED$/, "address not allowed"],
  [/^ECONNREFUSED$/, "connection refused"],
  [/^(ENOTFOUND|EAI_\w+|ENODATA)$/, "host not found"],
  [/^(ETIMEDOUT|UND_ERR_\w*TIMEOUT)$/, "timeout"],
  [
    /^(ECONNRESET|EPIPE|ECONNABORTED|UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)$/,
    "connection closed",
  ],
  [/^(EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/, "host not reachable"],
  [/CERT|^UNABLE_TO_VERIFY|^HOSTNAME_MISMATCH$/, "certificate not valid"],
  [/^(EPROTO$|ERR_SSL|ERR_TLS)/, "TLS failed"],
  [/^(HPE_|HTTPParserError|UND_ERR_HEADERS_OVERFLOW|ANSWER_TOO_LARGE)/, "not an HTTP answer"],
];

/** Returns a short stable text. The error's own message is not used, because it may reveal our network. */
export function toErrorText(error: unknown): DeliveryError {
  const code = codeOf(error) ?? "";
  return ERROR_TEXTS.find(([codes]) => codes.test(code))?.[1] ?? "connection failed";
}

interface ErrorLike {
  code?: unknown;
  name?: unknown;
  errors?: readonly unknown[];
  cause?: unknown;
}

/** Uses the first address's error when several failed. Errors of the HTTP parser have a name and no code. */
function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { code, name, errors, cause } = error as ErrorLike;
  return typeof code === "string" ? code : (codeOf(errors?.[0] ?? cause) ?? String(name));
}
