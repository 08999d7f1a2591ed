import type { Fields } from "../client/body.ts";
import { asObject, isObject, omitNullish, parseObject } from "../client/json-values.ts";

/** An error as parsed from a platform's error body. */
export interface PlatformError {
  code: number;
  subcode?: number;
  type?: string;
  message: string;
  transient: boolean;
  userTitle?: string;
  userMessage?: string;
  traceId?: string;
  /** Names of the parameters the platform rejects. */
  fields: string[];
  /** The chat platform's explanation. */
  details?: string;
}

/** Undefined when the body has no error with a code. A 200 response can contain an error too. */
export function readPlatformError(body: unknown): PlatformError | undefined {
  const { error } = asObject(body);
  if (!isObject(error)) return undefined;
  const code = toCode(error.code);
  if (code === undefined) return undefined;
  const data =
    typeof error.error_data === "string" ? parseObject(error.error_data) : asObject(error.error_data);
  const subcode = toCode(error.error_subcode);
  return {
    code,
    ...(subcode === undefined ? {} : { subcode }),
    ...nonEmptyStrings({
      type: error.type,
      userTitle: error.error_user_title,
      userMessage: error.error_user_msg,
    }),
    ...nonEmptyStrings({ traceId: error.fbtrace_id, details: data.details }),
    message: typeof error.message === "string" ? error.message : "The platform gave no reason",
    transient: error.is_transient === true,
    fields: blamedFields(data.blame_field_specs),
  };
}

const toCode = (value: unknown): number | undefined =>
  typeof value === "number" || (typeof value === "string" && /^\d+$/.test(value)) ? Number(value) : undefined;

const nonEmptyStrings = (fields: Fields): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields).filter(
      (field): field is [string, string] => typeof field[1] === "string" && field[1] !== "",
    ),
  );

/** Reads a list of paths, each a list of names: `[["daily_budget"], ["targeting", "geo_locations"]]`. */
function blamedFields(specs: unknown): string[] {
  if (!Array.isArray(specs)) return [];
  return specs
    .map((path) =>
      [path]
        .flat()
        .filter((name) => typeof name === "string")
        .join("."),
    )
    .filter(Boolean);
}

/** Redacts the call's secrets: platforms quote a malformed token in their error. */
export function withoutSecrets(error: PlatformError, secrets: readonly string[]): PlatformError {
  const redact = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(redact);
    return typeof value === "string" ? redactSecrets(value, secrets) : value;
  };
  return Object.fromEntries(
    Object.entries(error).map(([name, value]) => [name, redact(value)]),
  ) as unknown as PlatformError;
}

/** Shorter values are not redacted: they protect little and may occur in ordinary text. */
const MIN_SECRET_LENGTH = 8;

export const redactSecrets = (text: string, secrets: readonly string[]): string =>
  secrets
    .filter((secret) => secret.length >= MIN_SECRET_LENGTH)
    .reduce((rest, secret) => rest.replaceAll(secret, "[secret]"), text);

/** Formats the error for the API's error body. */
export const toPlatformErrorBody = (error: PlatformError): Fields =>
  omitNullish({
    code: error.code,
    subcode: error.subcode,
    type: error.type,
    message: error.message,
    user_title: error.userTitle,
    user_message: error.userMessage,
    details: error.details,
    trace_id: error.traceId,
    fields: error.fields.length === 0 ? undefined : error.fields,
  });
