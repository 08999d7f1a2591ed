/** Why there was no whole answer, by the code of the error; the first that fits. Tenants read the words. */
const ERROR_TEXTS: readonly [RegExp, string][] = [
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
  [/^(HPE_|HTTPParserError|UND_ERR_HEADERS_OVERFLOW)/, "not an HTTP answer"],
];

/** A few stable words; never the error's own, which may tell of our network. */
export function toErrorText(error: unknown): string {
  const code = codeOf(error) ?? "";
  return ERROR_TEXTS.find(([codes]) => codes.test(code))?.[1] ?? "connection failed";
}

interface ErrorLike {
  code?: unknown;
  name?: unknown;
  errors?: readonly unknown[];
  cause?: unknown;
}

/** Of several addresses that were tried in vain, the first one's. The parser of answers has none, but a name. */
function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { code, name, errors, cause } = error as ErrorLike;
  return typeof code === "string" ? code : (codeOf(errors?.[0] ?? cause) ?? String(name));
}
