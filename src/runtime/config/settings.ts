import { availableParallelism } from "node:os";
import { UNKNOWN_SEND_TIMEOUT_MS } from "../deadlines.ts";
import { SECOND } from "../durations.ts";
import { withoutTrailing } from "../http/addresses.ts";
import {
  cidrs,
  cronExpression,
  encryptionKeys,
  flag,
  hosts,
  httpUrl,
  integer,
  type Kind,
  oneOf,
  postgresUrl,
  redisAddress,
  secretText,
  text,
} from "./setting-kinds.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** One setting: how its text is parsed, its default, and its rules in production. The documentation lists them. */
export interface Setting<T> {
  kind: Kind<T>;
  meaning: string;
  /** The text used when the variable is unset, or a function that derives it from the other variables. */
  fallback?: string | ((env: Environment) => string | undefined);
  /** The documentation's text for a derived fallback or a required setting. */
  fallbackLabel?: string;
  required?: "always" | "production";
  /** How to obtain a valid value, when the kind does not explain it. */
  remedy?: string;
  httpsInProduction?: true;
  /** Production refuses the fallback: it is public, so anyone could sign or verify with it. */
  ownValueInProduction?: true;
}

const nonEmpty = (value: string | undefined): string | undefined => (value === "" ? undefined : value);

const MAX_PORT = 65_535;

const sandboxPort = (env: Environment) => nonEmpty(env.SANDBOX_PORT) ?? "8090";

const sandboxUrl = (path: string) => (env: Environment) => `http://localhost:${sandboxPort(env)}${path}`;

/** The media have a port of their own, because the platform serves them from another host than its API. */
function sandboxMediaPort(env: Environment): string {
  const port = Number(sandboxPort(env));
  return String(port < MAX_PORT ? port + 1 : port - 1);
}

const publicUrl = (env: Environment) =>
  withoutTrailing(nonEmpty(env.PUBLIC_URL) ?? `http://localhost:${nonEmpty(env.PORT) ?? "8080"}`, "/");

/** The host from which the chat platform serves received files. */
const PLATFORM_MEDIA_HOST = "lookaside.fbsbx.com";

/** Undefined when the chat platform's URL is wrong, which is reported by its own setting. */
function mediaHosts(env: Environment): string | undefined {
  const url = nonEmpty(env.CHAT_PLATFORM_URL) ?? sandboxUrl("/v26.0")(env);
  return URL.canParse(url) ? `${new URL(url).host},${PLATFORM_MEDIA_HOST}` : undefined;
}

const setting = <T>(kind: Kind<T>, options: Omit<Setting<T>, "kind">): Setting<T> => ({ kind, ...options });

const platformUrlSetting = (path: string, meaning: string) =>
  setting(httpUrl, {
    meaning,
    fallback: sandboxUrl(path),
    fallbackLabel: "the sandbox; required and https in production",
    required: "production",
    httpsInProduction: true,
  });

const platformAppSetting = (fallback: string, meaning: string) =>
  setting(text, {
    meaning,
    fallback,
    fallbackLabel: "the sandbox's value; required in production",
    required: "production",
  });

const platformSecretSetting = (fallback: string, meaning: string): Setting<string> => ({
  ...platformAppSetting(fallback, meaning),
  fallbackLabel: "the sandbox's value; another one is required in production",
  ownValueInProduction: true,
});

export const SETTINGS = {
  NODE_ENV: setting(oneOf("development", "test", "production"), {
    fallback: "development",
    meaning: "`production` requires https URLs and explicit platform settings",
  }),
  PORT: setting(integer(0, MAX_PORT), { fallback: "8080", meaning: "port of the web process" }),
  HOST: setting(text, { fallback: "0.0.0.0", meaning: "address that web and the metrics port listen on" }),
  WEB_CONCURRENCY: setting(integer(1, 64), {
    fallback: "1",
    meaning: "number of web processes that share the port; ignored under Deno",
  }),
  PUBLIC_URL: setting(httpUrl, {
    fallback: publicUrl,
    fallbackLabel: "`http://localhost:$PORT`",
    httpsInProduction: true,
    meaning: "URL at which clients and platforms reach Herald; https in production",
  }),
  TRUST_PROXY: setting(integer(0, 32), {
    fallback: "0",
    meaning: "number of proxies in front of web whose `X-Forwarded-For` entries are trusted",
  }),
  DATABASE_URL: setting(postgresUrl, {
    required: "always",
    fallbackLabel: "required; created by `npm start`",
    remedy:
      "run npm start for a local service; elsewhere, add a PostgreSQL server to the app or set it to postgres://user:password@host:5432/database",
    meaning: "PostgreSQL URL; `?sslmode=` disable, require, no-verify, verify-ca or verify-full",
  }),
  DATABASE_DIRECT_URL: setting(postgresUrl, {
    fallback: (env) => nonEmpty(env.DATABASE_URL),
    fallbackLabel: "`DATABASE_URL`",
    meaning: "PostgreSQL URL for migrations, when `DATABASE_URL` points to a connection pooler",
  }),
  DATABASE_PREPARED: setting(flag, {
    fallback: "true",
    meaning:
      "whether to use prepared statements; `false` behind a transaction-mode pooler older than PgBouncer 1.21",
  }),
  DATABASE_POOL: setting(integer(1, 500), { fallback: "10", meaning: "PostgreSQL connections per process" }),
  REDIS_URL: setting(redisAddress, {
    required: "always",
    fallbackLabel: "required; created by `npm start`",
    remedy: "add a Redis server to the app, or set it to redis://host:6379",
    meaning:
      "`redis://` or `rediss://` URL; several comma-separated nodes or `?cluster=true` mean a Redis Cluster, `redis://:password@host:26379,host:26379/?sentinel=NAME` the primary that these sentinels name (`&sentinel_username=` and `&sentinel_password=` are for the sentinels)",
  }),
  REDIS_TLS_VERIFY: setting(flag, {
    fallback: "true",
    meaning: "`false` accepts a self-signed certificate on `rediss://`",
  }),
  ENCRYPTION_KEYS: setting(encryptionKeys, {
    required: "always",
    remedy:
      'if the database already contains secrets, restore the key that encrypted them; otherwise create one key for all processes and keep a copy: echo "k1:$(openssl rand -base64 32)"',
    fallbackLabel: "required; created by `npm start`",
    meaning:
      "`id:base64(32 bytes)`, comma-separated; the first key encrypts, all keys decrypt; signing keys are derived from them",
  }),
  JWT_SECRET: setting(secretText(32), {
    remedy: "create one secret for all processes: openssl rand -base64 48",
    fallbackLabel: "this or the next three; created by `npm start`",
    meaning: "secret that signs user tokens (HS256), at least 32 bytes",
  }),
  JWT_JWKS_URL: setting(httpUrl, {
    httpsInProduction: true,
    meaning: "JWKS URL of an identity provider whose user tokens are accepted; https in production",
  }),
  JWT_ISSUER: setting(text, { meaning: "required `iss` of the identity provider's tokens" }),
  JWT_AUDIENCE: setting(text, { meaning: "required `aud` of the identity provider's tokens" }),
  AD_PLATFORM_URL: platformUrlSetting("/v26.0", "ad platform URL with version"),
  AD_DIALOG_URL: platformUrlSetting("/dialog/oauth", "URL of the ad platform's login dialog"),
  CHAT_PLATFORM_URL: platformUrlSetting(
    "/v26.0",
    "chat platform URL with version; also used for chatapp signups",
  ),
  PHOTO_PLATFORM_URL: platformUrlSetting("/v26.0", "photo platform URL with version"),
  SOCIAL_PLATFORM_URL: platformUrlSetting(
    "/v26.0",
    "social platform URL with version; also used for photoapp and socialapp signups",
  ),
  PLATFORM_MEDIA_HOSTS: setting(hosts, {
    fallback: mediaHosts,
    fallbackLabel: "host and port of `CHAT_PLATFORM_URL`, and `lookaside.fbsbx.com`",
    meaning: "comma-separated hosts from which Herald may download received media",
  }),
  SIGNUP_DIALOG_URL: platformUrlSetting("/dialog/signup", "URL of the embedded signup dialog"),
  SIGNUP_CONFIG_ID: platformAppSetting(
    "1900000000000002",
    "id of the embedded signup's configuration at the platform",
  ),
  PLATFORM_APP_ID: platformAppSetting("1900000000000001", "id of Herald's app at the platform"),
  PLATFORM_APP_SECRET: platformSecretSetting(
    "sandbox-app-secret",
    "secret of that app: signs calls to the platforms and verifies their webhooks",
  ),
  PLATFORM_VERIFY_TOKEN: platformSecretSetting(
    "sandbox-verify-token",
    "token that a platform must present in the webhook handshake",
  ),
  OAUTH_REDIRECT_URI: setting(httpUrl, {
    fallback: (env) => `${publicUrl(env)}/console/oauth`,
    fallbackLabel: "`$PUBLIC_URL/console/oauth`",
    meaning: "redirect URI of the ad platform's login dialog when the request gives none",
  }),
  DISPATCHER_CONCURRENCY: setting(integer(1, 10_000), {
    fallback: "200",
    meaning: "slots per dispatcher: concurrent deliveries, and as many concurrent sends",
  }),
  CHANNEL_RATE_PER_SECOND: setting(integer(1, 10_000), {
    fallback: "80",
    meaning: "messages sent per second and channel",
  }),
  SEND_UNKNOWN_SECONDS: setting(integer(1, 86_400), {
    fallback: String(UNKNOWN_SEND_TIMEOUT_MS / SECOND),
    meaning: "seconds that a send with unknown outcome waits for a status webhook before the message fails",
  }),
  RATE_LIMIT_PER_MINUTE: setting(integer(0, 10_000_000), {
    fallback: "12000",
    meaning: "API requests per client and minute; 0 turns the limit off",
  }),
  BODY_MEMORY_MB: setting(integer(64, 65_536), {
    fallback: "128",
    meaning:
      "megabytes of request bodies that one web process holds at a time; each caller has a share, beyond which its requests wait and then get 503 `overloaded`",
  }),
  MAX_CONNECTIONS_PER_ADDRESS: setting(integer(0, 1_000_000), {
    fallback: "256",
    meaning:
      "open connections of one IP address per web process; 0 turns the limit off; ignored while `TRUST_PROXY` is above 0",
  }),
  IMAGE_THREADS: setting(integer(1, 256), {
    fallback: () => String(Math.max(1, availableParallelism() - 1)),
    fallbackLabel: "cores - 1, at least 1",
    meaning: "threads per web process that decode uploaded images; the first upload starts them",
  }),
  PRIVATE_DESTINATIONS: setting(cidrs, {
    fallback: "",
    meaning: "comma-separated CIDRs of private addresses that `webhook_url` may reach, with http or https",
  }),
  EVENT_RETENTION_DAYS: setting(integer(1, 3_650), {
    fallback: "30",
    meaning: "days that events are kept; longer while they wait to be delivered",
  }),
  MESSAGE_RETENTION_DAYS: setting(integer(1, 3_650), {
    fallback: "90",
    meaning: "days that messages are kept, content and status; longer while they are still to be sent",
  }),
  CRON_TOKENS: setting(cronExpression, {
    fallback: "0 */15 * * * *",
    meaning: "schedule of the token check (cron expression, seconds first)",
  }),
  CRON_REPORTS: setting(cronExpression, {
    fallback: "*/30 * * * * *",
    meaning: "schedule of the insights reports (cron expression, seconds first)",
  }),
  CRON_MAINTENANCE: setting(cronExpression, {
    fallback: "0 0 * * * *",
    meaning: "schedule of the clean-up (cron expression, seconds first)",
  }),
  METRICS_PORT: setting(integer(1, MAX_PORT), {
    meaning:
      "port for a process's Prometheus metrics; a process that finds it taken uses the next free port. Listens on 127.0.0.1; with `METRICS_TOKEN` on `HOST`, and requires the token",
  }),
  METRICS_TOKEN: setting(secretText(16), {
    meaning:
      "Bearer token, at least 16 bytes, for `METRICS_PORT` and for `/metrics` of web; while unset, `/metrics` answers 404",
  }),
  SANDBOX_PORT: setting(integer(1, MAX_PORT), {
    fallback: "8090",
    meaning: "port of the sandbox, on loopback only",
  }),
  SANDBOX_MEDIA_PORT: setting(integer(1, MAX_PORT), {
    fallback: sandboxMediaPort,
    fallbackLabel: "`SANDBOX_PORT` + 1",
    meaning:
      "port from which the sandbox serves media, on loopback only; `npm start` sets `PLATFORM_MEDIA_HOSTS` to it",
  }),
  LOG_LEVEL: setting(oneOf("trace", "debug", "info", "warn", "error", "silent"), {
    fallback: "info",
    meaning: "lowest level that is logged",
  }),
  LOG_FORMAT: setting(oneOf("logfmt", "json", "pretty"), {
    fallback: () => (process.stdout.isTTY ? "pretty" : "logfmt"),
    fallbackLabel: "`pretty` on a terminal, else `logfmt`",
    meaning: "format of log lines: `logfmt`, `json` or `pretty`",
  }),
};

const entries = () => Object.entries<Setting<unknown>>(SETTINGS);

function defaultOf({ fallback, fallbackLabel }: Setting<unknown>): string {
  if (fallbackLabel !== undefined) return fallbackLabel;
  if (fallback === "") return "empty";
  return typeof fallback === "string" ? `\`${fallback}\`` : "unset";
}

/** Name, default and meaning of each setting: the rows of the documentation's table. */
export const settingsRows = (): string[][] =>
  entries().map(([name, setting]) => [name, defaultOf(setting), setting.meaning]);

/** The text of `.env.example`: required settings to fill in, the others commented out with their defaults. */
export function exampleSettings(): string {
  const blocks = entries().map(([name, setting]) => {
    const { required, fallback, meaning } = setting;
    const value = typeof fallback === "string" ? fallback : "";
    const comment = `# ${meaning.replaceAll("`", "")}${required === "production" ? " (required in production)" : ""}`;
    return `${comment}\n${required === "always" ? `${name}=` : `# ${name}=${value}`}\n`;
  });
  return ["# Settings of Herald. docs/operate/settings.md describes them.\n", ...blocks].join("\n");
}
