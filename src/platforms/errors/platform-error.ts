/** What a platform said when it refused, read from its envelope. */
export interface PlatformError {
  code: number;
  subcode?: number;
  type?: string;
  message: string;
  transient: boolean;
  userTitle?: string;
  userMessage?: string;
  traceId?: string;
  /** The parameters that the platform blames. */
  fields: string[];
  /** The chat platform's own explanation. */
  details?: string;
}

type Fields = Record<string, unknown>;

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The error in a body, or undefined when there is none with a code. A 200 can carry one too. */
export function readPlatformError(body: unknown): PlatformError | undefined {
  const error = isObject(body) ? body.error : undefined;
  if (!isObject(error)) return undefined;
  const code = toCode(error.code);
  if (code === undefined) return undefined;
  const data = readErrorData(error.error_data);
  const subcode = toCode(error.error_subcode);
  return {
    code,
    ...(subcode === undefined ? {} : { subcode }),
    ...texts({ type: error.type, userTitle: error.error_user_title, userMessage: error.error_user_msg }),
    ...texts({ traceId: error.fbtrace_id, details: data.details }),
    message: typeof error.message === "string" ? error.message : "The platform gave no reason",
    transient: error.is_transient === true,
    fields: blamedFields(data.blame_field_specs),
  };
}

const toCode = (value: unknown): number | undefined =>
  typeof value === "number" || (typeof value === "string" && /^\d+$/.test(value)) ? Number(value) : undefined;

/** An object, or the JSON text of one. */
function readErrorData(data: unknown): Fields {
  if (typeof data !== "string") return isObject(data) ? data : {};
  try {
    const read: unknown = JSON.parse(data);
    return isObject(read) ? read : {};
  } catch {
    return {};
  }
}

const texts = (fields: Fields): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields).filter(
      (field): field is [string, string] => typeof field[1] === "string" && field[1] !== "",
    ),
  );

/** A list of paths, each a list of names: `[["daily_budget"], ["targeting", "geo_locations"]]`. */
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

/** The error with the secrets of its call struck out: platforms quote a token that they cannot read. */
export function withoutSecrets(error: PlatformError, secrets: readonly string[]): PlatformError {
  const washed = Object.entries(error).map(([name, value]) => [
    name,
    typeof value === "string" ? struckOut(value, secrets) : value,
  ]);
  return Object.fromEntries(washed) as PlatformError;
}

export const struckOut = (text: string, secrets: readonly string[]): string =>
  secrets
    .filter((secret) => secret !== "")
    .reduce((rest, secret) => rest.replaceAll(secret, "[secret]"), text);

/** As our own error body shows it. */
export const toPlatformErrorBody = (error: PlatformError): Fields => ({
  code: error.code,
  ...(error.subcode === undefined ? {} : { subcode: error.subcode }),
  ...(error.type === undefined ? {} : { type: error.type }),
  message: error.message,
  ...(error.userTitle === undefined ? {} : { user_title: error.userTitle }),
  ...(error.userMessage === undefined ? {} : { user_message: error.userMessage }),
  ...(error.details === undefined ? {} : { details: error.details }),
  ...(error.traceId === undefined ? {} : { trace_id: error.traceId }),
  ...(error.fields.length === 0 ? {} : { fields: error.fields }),
});
