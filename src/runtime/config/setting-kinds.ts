import { isIP } from "node:net";
import { validate } from "node-cron";
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
    const urls = parseRedisUrls(value);
    if (urls === undefined) return undefined;
    const isCluster = paramOf(urls, "cluster") === "true";
    const primary = paramOf(urls, "sentinel");
    if (primary === undefined)
      return { nodes: urls.map(withoutOwnParams), cluster: isCluster || urls.length > 1 };
    if (primary === "" || isCluster) return undefined;
    return { nodes: sentinelNodes(urls), cluster: false, sentinel: { primary, ...sentinelAccess(urls) } };
  },
};

function parseRedisUrls(value: string): URL[] | undefined {
  const urls = withSchemes(list(value)).map(parseUrl);
  const [first] = urls;
  return first && urls.every((url) => isRedisUrl(url, first)) ? urls : undefined;
}

/** In `redis://a:1,b:2` the scheme stands before the first host only. */
function withSchemes(entries: readonly string[]): string[] {
  const scheme = /^\w+:\/\//.exec(entries[0] ?? "")?.[0] ?? "";
  return entries.map((entry) => (entry.includes("://") ? entry : scheme + entry));
}

const isRedisUrl = (url: URL | undefined, first: URL): url is URL =>
  url !== undefined &&
  /^rediss?:$/.test(url.protocol) &&
  url.protocol === first.protocol &&
  url.hostname !== "" &&
  /^\/?\d*$/.test(url.pathname) &&
  isDecodable(url.username) &&
  isDecodable(url.password);

/** False when a "%" begins no escape sequence: the Redis client could not decode it. */
function isDecodable(part: string): boolean {
  try {
    decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}

/** The parameters of a list of hosts stand after the last one, those of a list of URLs after any of them. */
function paramOf(urls: readonly URL[], name: string): string | undefined {
  // Unlike in a form, "+" is no space: a password may contain it.
  const found = urls.map(({ search }) => new URLSearchParams(search.replaceAll("+", "%2B")).get(name));
  return found.findLast((param) => param !== null) ?? undefined;
}

/** The sentinels with their ports. The path of a list of hosts stands after the last one, and the first URL gets it. */
function sentinelNodes(urls: readonly URL[]): string[] {
  const path = urls.findLast(({ pathname }) => pathname.length > 1)?.pathname ?? "/";
  return urls.map((url, index) => {
    const node = new URL(withoutOwnParams(url));
    if (node.port === "") node.port = SENTINEL_PORT;
    node.pathname = index === 0 ? path : "/";
    return node.href;
  });
}

function sentinelAccess(urls: readonly URL[]): Pick<SentinelAccess, "username" | "password"> {
  const username = paramOf(urls, "sentinel_username");
  const password = paramOf(urls, "sentinel_password");
  return { ...(username ? { username } : {}), ...(password ? { password } : {}) };
}

function withoutOwnParams(url: URL): string {
  const copy = new URL(url);
  for (const name of OWN_PARAMS) copy.searchParams.delete(name);
  return copy.href;
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

const SIX_FIELDS = /^\S+( \S+){5}$/;

/**
 * The library accepts these expressions and cannot run them: it lists every value of a range, which ends a process for large
 * numbers, and throws when a day with L, W or # never comes.
 */
const UNSUPPORTED_CRON = /\d{3}|[#?]|\d[lw]|[ ,]l/i;

/** The library that runs the schedules decides. It also takes five fields, and names such as @hourly. */
export const cronExpression: Kind<string> = {
  expects: "a cron expression of six fields, seconds first",
  parse(value) {
    const isSupported = SIX_FIELDS.test(value) && !UNSUPPORTED_CRON.test(value);
    return isSupported && validate(value) ? value : undefined;
  },
};

function list(value: string): string[] {
  return value
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}
