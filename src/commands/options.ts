import { DAY, HOUR, MINUTE, SECOND } from "../runtime/durations.ts";
import { type IdPrefix, isClientId, isPrefixedId } from "../runtime/ids.ts";
import { externalRef, platformId, platformToken } from "../schema/channels.ts";
import { EVENT_KEYS, PLATFORMS, ROLES, SCOPES, type Scope } from "../schema/enumerations.ts";
import { email, givenName, password } from "../schema/people.ts";
import { object, type Static, type TSchema, timestamp } from "../schema/types.ts";
import { createValidator } from "../schema/validate.ts";
import { type Option, UsageError } from "./command.ts";

type Described<T> = Omit<Option<T>, "required">;

export const required = <T>(option: Described<T>): Option<T> => ({ ...option, required: true });

export const optional = <T>(option: Described<T>): Option<T | undefined> => ({ ...option, required: false });

export const flag = (about: string): Option<boolean | undefined> => ({
  about,
  required: false,
  parse: () => true,
});

/** Takes what the API takes in the field of this name. Compiled when it is asked: most commands ask for none or one. */
function asInApi<S extends TSchema>(field: string, schema: S): (text: string) => Static<S> {
  return (text) => {
    const [problem] = createValidator().json(object({ [field]: schema }))({ [field]: text });
    if (problem) throw new UsageError(problem.message.replace(`${field} `, ""));
    return text as Static<S>;
  };
}

export const listed =
  <T extends string>(words: readonly T[]) =>
  (text: string): T => {
    if (!words.includes(text as T)) throw new UsageError(`must be one of ${words.join(", ")}`);
    return text as T;
  };

const UNITS: Record<string, number> = { s: SECOND, m: MINUTE, h: HOUR, d: DAY };
const LONGEST = 3_650 * DAY;

/** `90d`, `12h`, `30m`, `15s`, in milliseconds. */
function duration(text: string): number {
  const [, count, unit = ""] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const milliseconds = Number(count) * (UNITS[unit] ?? Number.NaN);
  if (!(milliseconds > 0 && milliseconds <= LONGEST))
    throw new UsageError("must be a time such as 90d, 12h, 30m or 15s, at most 3650d");
  return milliseconds;
}

function clientId(text: string): string {
  if (!isClientId(text)) throw new UsageError("must be a client's id (a UUID)");
  return text;
}

function scopes(text: string): Scope[] {
  const words = text.split(",").map((word) => listed(SCOPES)(word.trim()));
  return [...new Set(words)];
}

const prefixed = (prefix: IdPrefix) => (text: string) => {
  if (!isPrefixedId(text, prefix)) throw new UsageError(`must be a whole id: ${prefix}_ and 26 characters`);
  return text;
};

/** The options that several verbs share, each described once. */
export const OPTION = {
  client: { placeholder: "ID", about: "the client's id", parse: clientId },
  user: { placeholder: "ID", about: "the user's id", parse: prefixed("usr") },
  key: { placeholder: "ID", about: "the key's id", parse: prefixed("key") },
  name: { placeholder: "NAME", about: "what it is called", parse: asInApi("name", givenName("")) },
  email: { placeholder: "EMAIL", about: "what the user signs in with", parse: asInApi("email", email) },
  role: { placeholder: "ROLE", about: ROLES.join(", "), parse: listed(ROLES) },
  password: {
    placeholder: "PASSWORD",
    about: "8 characters or more, or - to read it from standard input; generated when absent",
    secret: true,
    parse: asInApi("password", password),
  },
  platform: { placeholder: "PLATFORM", about: PLATFORMS.join(", "), parse: listed(PLATFORMS) },
  platformId: {
    placeholder: "ID",
    about: "its id at the platform",
    parse: asInApi("id", { ...platformId(""), "x-message": "id must have 1 to 32 digits" }),
  },
  token: {
    placeholder: "TOKEN",
    about: "what the platform gives access with, or - to read it from standard input",
    secret: true,
    parse: asInApi("token", platformToken),
  },
  externalRef: {
    placeholder: "REF",
    about: "the client's own name for it",
    parse: asInApi("external_ref", externalRef),
  },
  scopes: { placeholder: "SCOPES", about: `comma-separated: ${SCOPES.join(", ")}`, parse: scopes },
  eventKey: { placeholder: "KEY", about: EVENT_KEYS.join(", "), parse: listed(EVENT_KEYS) },
  time: {
    placeholder: "TIME",
    about: "such as 2026-11-01T09:30:00Z",
    parse: asInApi("time", timestamp({ "x-message": "time must be a time such as 2026-11-01T09:30:00Z" })),
  },
  duration: { placeholder: "TIME", about: "such as 90d, 12h or 30m", parse: duration },
} as const satisfies Record<string, Described<unknown>>;
