import { isIP } from "node:net";
import { withoutTrailing } from "../http/addresses.ts";

/** How the text of a setting becomes a value. */
export interface Kind<T> {
  /** Completes the sentence "<name> must be ...". */
  expects: string;
  /** Undefined when the text is invalid. */
  parse(text: string): T | undefined;
}

export const text: Kind<string> = { expects: "a text", parse: (value) => value };

export const oneOf = <const T extends string>(...allowed: T[]): Kind<T> => ({
  expects: `one of ${allowed.join(", ")}`,
  parse: (value) => allowed.find((word) => word === value),
});

export const flag: Kind<boolean> = {
  expects: "true or false",
  parse: (value) => (value === "true" ? true : value === "false" ? false : undefined),
};

export const integer = (min: number, max: number): Kind<number> => ({
  expects: `a whole number from ${min} to ${max}`,
  parse(value) {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    return number >= min && number <= max ? number : undefined;
  },
});

export const secretText = (minBytes: number): Kind<string> => ({
  expects: `a text of at least ${minBytes} bytes`,
  parse: (value) => (Buffer.byteLength(value) >= minBytes ? value : undefined),
});

const parseUrl = (value: string): URL | undefined => (URL.canParse(value) ? new URL(value) : undefined);

/** A URL of Herald or of a platform, stored without its trailing slash so that paths can be appended. */
export const httpUrl: Kind<string> = {
  expects: "an http or https URL without credentials, query or fragment",
  parse(value) {
    const url = parseUrl(value);
    if (!url || !/^https?:$/.test(url.protocol) || /[?#]/.test(value) || url.username || url.password)
      return undefined;
    return withoutTrailing(value, "/");
  },
};

const SSL_MODES = ["disable", "require", "no-verify", "verify-ca", "verify-full"];

export const postgresUrl: Kind<string> = {
  expects: `a postgres:// URL whose sslmode, if given, is one of ${SSL_MODES.join(", ")}`,
  parse(value) {
    const url = parseUrl(value);
    if (!url || !/^postgres(ql)?:$/.test(url.protocol)) return undefined;
    const mode = url.searchParams.get("sslmode");
    return mode === null || SSL_MODES.includes(mode) ? value : undefined;
  },
};

export interface RedisAddress {
  /** URLs of the server, of some nodes of the cluster, or of the sentinels. The first has the user, password and database. */
  nodes: string[];
  cluster: boolean;
  /** Set when `nodes` are sentinels. */
  sentinel?: SentinelAccess;
}

interface SentinelAccess {
  /** The name by which the sentinels know the primary. */
  primary: string;
  /** Of the sentinels themselves. */
  username?: string;
  password?: string;
}

const SENTINEL_PORT = "26379";
const OWN_PARAMS = ["cluster", "sentinel", "sentinel_username", "sentinel_password"];

export const redisAddress: Kind<RedisAddress> = {
  expects:
    "a redis:// or rediss:// URL, several separated by commas, or redis://host:26379,host:26379/?sentinel=NAME",
  parse(value) {
    const urls = withSchemes(list(value)).map(parseUrl);
    const [first, last] = [urls[0], urls.at(-1)];
    if (!first || !last || !urls.every((url) => isRedisUrl(url, first))) return undefined;
    // The path and the parameters of a list of hosts stand after the last one.
    const sentinel = last.searchParams.get("sentinel");
    const cluster = urls.length > 1 || first.searchParams.get("cluster") === "true";
    if (sentinel === null) return { nodes: urls.map((url) => withoutOwnParams(url as URL)), cluster };
    if (sentinel === "" || first.searchParams.has("cluster")) return undefined;
    const [username, password] = ["username", "password"].map((name) =>
      last.searchParams.get(`sentinel_${name}`),
    );
    first.pathname = last.pathname;
    for (const url of urls) if (url?.port === "") url.port = SENTINEL_PORT;
    return {
      nodes: urls.map((url) => withoutOwnParams(url as URL)),
      cluster: false,
      sentinel: { primary: sentinel, ...(username ? { username } : {}), ...(password ? { password } : {}) },
    };
  },
};

/** In `redis://a:1,b:2` the scheme stands before the first host only. */
function withSchemes(entries: readonly string[]): string[] {
  const scheme = /^\w+:\/\//.exec(entries[0] ?? "")?.[0] ?? "";
  return entries.map((entry) => (entry.includes("://") ? entry : scheme + entry));
}

const isRedisUrl = (url: URL | undefined, first: URL): boolean =>
  url !== undefined &&
  /^rediss?:$/.test(url.protocol) &&
  url.protocol === first.protocol &&
  url.hostname !== "";

function withoutOwnParams(url: URL): string {
  for (const name of OWN_PARAMS) url.searchParams.delete(name);
  return url.href;
}

export interface EncryptionKey {
  id: string;
  bytes: Buffer;
}

function parseEncryptionKey(entry: string): EncryptionKey | undefined {
  const match = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/]{43}=)$/.exec(entry);
  return match ? { id: match[1] as string, bytes: Buffer.from(match[2] as string, "base64") } : undefined;
}

export const encryptionKeys: Kind<readonly EncryptionKey[]> = {
  expects: "id:base64(32 bytes), or several with different ids, separated by commas",
  parse(value) {
    const keys = list(value).map(parseEncryptionKey);
    const valid = keys.filter((key) => key !== undefined);
    const ids = new Set(valid.map((key) => key.id));
    return valid.length > 0 && valid.length === keys.length && ids.size === valid.length ? valid : undefined;
  },
};

export interface Cidr {
  address: string;
  prefix: number;
  family: "ipv4" | "ipv6";
}

function parseCidr(entry: string): Cidr | undefined {
  const [address = "", prefix = "", ...rest] = entry.split("/");
  const version = isIP(address);
  const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  if (version === 0 || rest.length > 0 || !(bits <= (version === 4 ? 32 : 128))) return undefined;
  return { address, prefix: bits, family: version === 4 ? "ipv4" : "ipv6" };
}

export const cidrs: Kind<readonly Cidr[]> = {
  expects: "CIDR ranges such as 10.0.0.0/8, separated by commas",
  parse(value) {
    const ranges = list(value).map(parseCidr);
    return ranges.every((range) => range !== undefined) ? ranges : undefined;
  },
};

export const hosts: Kind<readonly string[]> = {
  expects: "host names, each with an optional port, separated by commas",
  parse(value) {
    const names = list(value).map((name) => name.toLowerCase());
    return names.every((name) => /^(\[[0-9a-f:]+\]|[a-z0-9.-]+)(:\d{1,5})?$/.test(name)) ? names : undefined;
  },
};

export const cronExpression: Kind<string> = {
  expects: "a cron expression of six fields, seconds first",
  parse: (value) => (isCronExpression(value) ? value : undefined),
};

function list(value: string): string[] {
  return value
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

interface Field {
  min: number;
  max: number;
  /** Names that stand for numbers; the first stands for `min`. */
  words?: readonly string[];
}

/** Second, minute, hour, day of the month, month, day of the week. */
const FIELDS: readonly Field[] = [
  { min: 0, max: 59 },
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, words: MONTHS },
  { min: 0, max: 7, words: DAYS },
];

/** True for six fields, each made of lists, ranges and steps within its bounds. */
function isCronExpression(text: string): boolean {
  const parts = text.split(" ");
  return (
    parts.length === FIELDS.length && parts.every((part, index) => isField(part, FIELDS[index] as Field))
  );
}

const isField = (text: string, field: Field) => text.split(",").every((entry) => isEntry(entry, field));

function isEntry(text: string, field: Field): boolean {
  const [range = "", step, ...rest] = text.split("/");
  if (rest.length > 0 || (step !== undefined && !/^[1-9]\d?$/.test(step))) return false;
  if (range === "*") return true;
  const [from, to, ...more] = range.split("-").map((value) => numberOf(value, field));
  if (more.length > 0 || from === undefined) return false;
  return range.includes("-") ? to !== undefined && from <= to : true;
}

function numberOf(text: string, { min, max, words = [] }: Field): number | undefined {
  const word = words.indexOf(text.toLowerCase());
  if (word !== -1) return min + word;
  const number = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  return number >= min && number <= max ? number : undefined;
}
