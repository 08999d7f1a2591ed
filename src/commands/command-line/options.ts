import { DAY, HOUR, MINUTE, SECOND } from "../../runtime/durations.ts";
import { type IdPrefix, isClientId, isPrefixedId } from "../../runtime/ids.ts";
import { batchName } from "../../schema/batches.ts";
import { externalRef, platformId, platformToken } from "../../schema/channels.ts";
import { EVENT_KEYS, PLATFORMS, ROLES, SCOPES, type Scope } from "../../schema/enumerations.ts";
import { email, entityName, password } from "../../schema/tenants.ts";
import {
  describePeriodProblem,
  type Period,
  type PeriodInput,
  type PeriodProblem,
  readPeriod,
} from "../../schema/times.ts";
import { object, type Static, type TSchema, timestamp } from "../../schema/types.ts";
import { createValidator } from "../../schema/validate.ts";
import { type Option, toFlag, UsageError } from "./command.ts";

type OptionSpec<T> = Omit<Option<T>, "required">;

export const required = <T>(option: OptionSpec<T>): Option<T> => ({ ...option, required: true });

export const optional = <T>(option: OptionSpec<T>): Option<T | undefined> => ({ ...option, required: false });

/** Given by its position after the verb. */
export const positional = <T>(option: OptionSpec<T>): Option<T> => ({
  ...option,
  required: true,
  positional: true,
});

/** May be left out. */
export const optionalPositional = <T>(option: OptionSpec<T>): Option<T | undefined> => ({
  ...option,
  required: false,
  positional: true,
});

/** May be given several times. */
export const repeatable = <T>(option: OptionSpec<T>): Option<readonly T[] | undefined> => ({
  ...option,
  required: false,
  repeatable: true,
  parse: (text, former = []) => [...former, option.parse(text)],
});

export const flag = (about: string): Option<boolean | undefined> => ({
  about,
  required: false,
  parse: () => true,
});

/**
 * Validates as the API does for the field of this name. Compiles on use, because most commands need few
 * schemas.
 */
function parseAsApiField<S extends TSchema>(field: string, schema: S): (text: string) => Static<S> {
  return (text) => {
    const [problem] = createValidator().json(object({ [field]: schema }))({ [field]: text });
    if (problem) throw new UsageError(problem.message.replace(`${field} `, ""));
    return text as Static<S>;
  };
}

export const parseOneOf =
  <T extends string>(words: readonly T[]) =>
  (text: string): T => {
    if (!words.includes(text as T)) throw new UsageError(`must be one of ${words.join(", ")}`);
    return text as T;
  };

/** The problem with `--since` and `--until`. */
export const periodError = (problem: PeriodProblem): UsageError =>
  new UsageError(describePeriodProblem(problem, toFlag));

/** Parses `--since` and `--until`. */
export function parsePeriod(given: PeriodInput): Period {
  const period = readPeriod(given);
  if ("field" in period) throw periodError(period);
  return period;
}

const DURATION_MS: Record<string, number> = { s: SECOND, m: MINUTE, h: HOUR, d: DAY };
const MAX_DURATION_MS = 3_650 * DAY;

/** `90d`, `12h`, `30m`, `15s`, in milliseconds. */
function parseDuration(text: string): number {
  const [, count, suffix = ""] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const milliseconds = Number(count) * (DURATION_MS[suffix] ?? Number.NaN);
  if (!(milliseconds > 0 && milliseconds <= MAX_DURATION_MS))
    throw new UsageError("must be a duration such as 90d, 12h, 30m or 15s, at most 3650d");
  return milliseconds;
}

function parseClientId(text: string): string {
  if (!isClientId(text)) throw new UsageError("must be a client id (a UUID)");
  return text;
}

function parseScopes(text: string): Scope[] {
  const words = text.split(",").map((word) => parseOneOf(SCOPES)(word.trim()));
  return [...new Set(words)];
}

const parsePrefixedId = (prefix: IdPrefix) => (text: string) => {
  if (!isPrefixedId(text, prefix))
    throw new UsageError(`must be a complete id: ${prefix}_ and 26 characters`);
  return text;
};

const MAX_LISTED_ROWS = 10_000;
export const DEFAULT_LISTED_ROWS = 100;

function parseLimit(text: string): number {
  const limit = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_LISTED_ROWS)
    throw new UsageError(`must be a number from 1 to ${MAX_LISTED_ROWS}`);
  return limit;
}

/** Options that several commands share. */
export const OPTION = {
  client: { placeholder: "ID", about: "the client's id", parse: parseClientId },
  channel: { placeholder: "ID", about: "the channel's id", parse: parsePrefixedId("ch") },
  message: { placeholder: "ID", about: "the message's id", parse: parsePrefixedId("msg") },
  batch: { placeholder: "ID", about: "the batch's id", parse: parsePrefixedId("bat") },
  batchName: {
    placeholder: "NAME",
    about: "name of the batches",
    parse: parseAsApiField("name", batchName),
  },
  event: { placeholder: "ID", about: "the event's id", parse: parsePrefixedId("evt") },
  user: { placeholder: "ID", about: "the user's id", parse: parsePrefixedId("usr") },
  key: { placeholder: "ID", about: "the key's id", parse: parsePrefixedId("key") },
  name: { placeholder: "NAME", about: "display name", parse: parseAsApiField("name", entityName("")) },
  reason: {
    placeholder: "TEXT",
    about: "why, for other operators",
    parse: parseAsApiField("reason", {
      ...entityName(""),
      "x-message": "reason must have 1 to 200 characters, at least one visible and no control characters",
    }),
  },
  email: {
    placeholder: "EMAIL",
    about: "email to sign in with",
    parse: parseAsApiField("email", email),
  },
  role: { placeholder: "ROLE", about: ROLES.join(", "), parse: parseOneOf(ROLES) },
  password: {
    placeholder: "PASSWORD",
    about: "at least 8 characters, or - to read it from standard input (default: generated)",
    secret: true,
    parse: parseAsApiField("password", password),
  },
  platform: { placeholder: "PLATFORM", about: PLATFORMS.join(", "), parse: parseOneOf(PLATFORMS) },
  platformId: {
    placeholder: "ID",
    about: "id at the platform",
    parse: parseAsApiField("id", { ...platformId(""), "x-message": "id must have 1 to 32 digits" }),
  },
  token: {
    placeholder: "TOKEN",
    about: "access token of the platform, or - to read it from standard input",
    secret: true,
    parse: parseAsApiField("token", platformToken),
  },
  externalRef: {
    placeholder: "REF",
    about: "the client's own reference",
    parse: parseAsApiField("external_ref", externalRef),
  },
  scopes: { placeholder: "SCOPES", about: `comma-separated: ${SCOPES.join(", ")}`, parse: parseScopes },
  eventKey: { placeholder: "KEY", about: EVENT_KEYS.join(", "), parse: parseOneOf(EVENT_KEYS) },
  time: {
    placeholder: "TIME",
    about: "such as 2026-11-01T09:30:00Z",
    parse: parseAsApiField(
      "time",
      timestamp({ "x-message": "time must be an RFC 3339 time such as 2026-11-01T09:30:00Z" }),
    ),
  },
  limit: {
    placeholder: "NUMBER",
    about: `how many to list, at most ${MAX_LISTED_ROWS} (default: ${DEFAULT_LISTED_ROWS})`,
    parse: parseLimit,
  },
  duration: { placeholder: "TIME", about: "such as 90d, 12h or 30m", parse: parseDuration },
} as const satisfies Record<string, OptionSpec<unknown>>;
