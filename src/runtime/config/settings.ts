import { availableParallelism } from "node:os";
import { UNKNOWN_SEND_TIMEOUT_MS } from "../deadlines.ts";
import { SECOND } from "../durations.ts";
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

/** One setting: how its text is read, what stands in for it, which rules production adds. The README's table is made of these. */
export interface Setting<T> {
  kind: Kind<T>;
  meaning: string;
  /** The text used when the variable is unset, or how to make it from the others. */
  fallback?: string | ((env: Environment) => string | undefined);
  /** How the README shows a fallback that is made, or that the setting is required. */
  fallbackLabel?: string;
  required?: "always" | "production";
  /** How to come by a right value, where its kind does not say it. */
  remedy?: string;
  httpsInProduction?: true;
}

const setting = <T>(kind: Kind<T>, options: Omit<Setting<T>, "kind">): Setting<T> => ({ kind, ...options });

const nonEmpty = (value: string | undefined): string | undefined => (value === "" ? undefined : value);

const sandboxUrl = (path: string) => (env: Environment) =>
  `http://localhost:${nonEmpty(env.SANDBOX_PORT) ?? "8090"}${path}`;

const publicUrl = (env: Environment) =>
  (nonEmpty(env.PUBLIC_URL) ?? `http://localhost:${nonEmpty(env.PORT) ?? "8080"}`).replace(/\/+$/, "");

const chatPlatformUrl = (env: Environment) => nonEmpty(env.CHAT_PLATFORM_URL) ?? sandboxUrl("/v26.0")(env);

const platformUrlSetting = (path: string, meaning: string) =>
  setting(httpUrl, {
    meaning,
    fallback: sandboxUrl(path),
    fallbackLabel: "the sandbox's; required and https in production",
    required: "production",
    httpsInProduction: true,
  });

const platformAppSetting = (fallback: string, meaning: string) =>
  setting(text, {
    meaning,
    fallback,
    fallbackLabel: "the sandbox's; required in production",
    required: "production",
  });

export const SETTINGS = {
  NODE_ENV: setting(oneOf("development", "test", "production"), {
    fallback: "development",
    meaning: "`production` switches the strict rules on",
  }),
  PORT: setting(integer(0, 65_535), { fallback: "8080", meaning: "port of web" }),
  HOST: setting(text, { fallback: "0.0.0.0", meaning: "address web listens on" }),
  WEB_CONCURRENCY: setting(integer(1, 64), { fallback: "1", meaning: "forks of web (ignored under Deno)" }),
  PUBLIC_URL: setting(httpUrl, {
    fallback: publicUrl,
    fallbackLabel: "`http://localhost:$PORT`",
    httpsInProduction: true,
    meaning: "address that tenants and platforms see; https in production",
  }),
  TRUST_PROXY: setting(integer(0, 32), {
    fallback: "0",
    meaning: "how many proxies in front are believed about the caller's address",
  }),
  DATABASE_URL: setting(postgresUrl, {
    required: "always",
    fallbackLabel: "required; made by `npm start`",
    remedy:
      "add a PostgreSQL server to the app, or write postgres://user:password@host:5432/database; what npm start made is loaded with: set -a; . .herald/env; set +a",
    meaning: "PostgreSQL; `?sslmode=` disable, require, no-verify, verify-ca or verify-full",
  }),
  DATABASE_DIRECT_URL: setting(postgresUrl, {
    fallback: (env) => nonEmpty(env.DATABASE_URL),
    fallbackLabel: "`DATABASE_URL`",
    meaning: "for migrations, when `DATABASE_URL` is a pooler",
  }),
  DATABASE_PREPARED: setting(flag, {
    fallback: "true",
    meaning: "`false` behind a pooler in transaction mode older than PgBouncer 1.21",
  }),
  DATABASE_POOL: setting(integer(1, 500), { fallback: "10", meaning: "connections per process" }),
  REDIS_URL: setting(redisAddress, {
    required: "always",
    fallbackLabel: "required; made by `npm start`",
    remedy: "add a Redis server to the app, or write redis://host:6379",
    meaning: "`redis://` or `rediss://`; several comma-separated nodes or `?cluster=true` is a Redis Cluster",
  }),
  REDIS_TLS_VERIFY: setting(flag, {
    fallback: "true",
    meaning: "`false` accepts a self-signed certificate on `rediss://`",
  }),
  ENCRYPTION_KEYS: setting(encryptionKeys, {
    required: "always",
    remedy:
      'where secrets are stored already, put the key back that they need; else make one for all processes and keep it safe: echo "k1:$(openssl rand -base64 32)"',
    fallbackLabel: "required; made by `npm start`",
    meaning:
      "`id:base64(32 bytes)`, comma-separated; the first encrypts, all decrypt; signing keys are derived from it",
  }),
  JWT_SECRET: setting(secretText(32), {
    remedy: "make a secret once, the same for all processes: openssl rand -base64 48",
    fallbackLabel: "this, or the next three; made by `npm start`",
    meaning: "signs user tokens (HS256), 32 bytes or more",
  }),
  JWT_JWKS_URL: setting(httpUrl, {
    httpsInProduction: true,
    meaning: "keys of an identity provider for user tokens",
  }),
  JWT_ISSUER: setting(text, { meaning: "`iss` of its tokens" }),
  JWT_AUDIENCE: setting(text, { meaning: "`aud` of its tokens" }),
  AD_PLATFORM_URL: platformUrlSetting("/v26.0", "ad platform, with version"),
  AD_DIALOG_URL: platformUrlSetting("/dialog/oauth", "login dialog of the ad platform"),
  CHAT_PLATFORM_URL: platformUrlSetting("/v26.0", "chat platform, with version; signup calls of chatapp"),
  PHOTO_PLATFORM_URL: platformUrlSetting("/v26.0", "photo platform, with version"),
  SOCIAL_PLATFORM_URL: platformUrlSetting(
    "/v26.0",
    "social platform, with version; signup calls of photoapp and socialapp",
  ),
  PLATFORM_MEDIA_HOSTS: setting(hosts, {
    fallback: (env) => hostOf(chatPlatformUrl(env)),
    fallbackLabel: "host and port of `CHAT_PLATFORM_URL`",
    meaning: "comma-separated hosts from which received media may be downloaded",
  }),
  SIGNUP_DIALOG_URL: platformUrlSetting("/dialog/signup", "embedded signup dialog"),
  SIGNUP_CONFIG_ID: platformAppSetting("1900000000000002", "its configuration at the platform"),
  PLATFORM_APP_ID: platformAppSetting("1900000000000001", "the app at the platform"),
  PLATFORM_APP_SECRET: platformAppSetting("sandbox-app-secret", "its secret: signs and verifies"),
  PLATFORM_VERIFY_TOKEN: platformAppSetting("sandbox-verify-token", "answers the webhook handshake"),
  OAUTH_REDIRECT_URI: setting(httpUrl, {
    fallback: (env) => `${publicUrl(env)}/console/oauth`,
    fallbackLabel: "`$PUBLIC_URL/console/oauth`",
    meaning: "default redirect of the ad platform's login",
  }),
  DISPATCHER_CONCURRENCY: setting(integer(1, 10_000), { fallback: "200", meaning: "slots per dispatcher" }),
  CHANNEL_RATE_PER_SECOND: setting(integer(1, 10_000), {
    fallback: "80",
    meaning: "outbound rate per channel",
  }),
  SEND_UNKNOWN_SECONDS: setting(integer(1, 86_400), {
    fallback: String(UNKNOWN_SEND_TIMEOUT_MS / SECOND),
    meaning: "how long a send of unknown outcome waits for word",
  }),
  RATE_LIMIT_PER_MINUTE: setting(integer(0, 10_000_000), {
    fallback: "12000",
    meaning: "API requests per client, 0 = off",
  }),
  IMAGE_THREADS: setting(integer(1, 256), {
    fallback: () => String(Math.max(1, availableParallelism() - 1)),
    fallbackLabel: "cores - 1, at least 1",
    meaning: "threads that decode images",
  }),
  PRIVATE_DESTINATIONS: setting(cidrs, {
    fallback: "",
    meaning: "comma-separated CIDRs that `webhook_url` may reach although private, by http too",
  }),
  EVENT_RETENTION_DAYS: setting(integer(1, 3_650), { fallback: "30", meaning: "event history" }),
  MESSAGE_RETENTION_DAYS: setting(integer(1, 3_650), {
    fallback: "90",
    meaning: "messages, content and status",
  }),
  CRON_TOKENS: setting(cronExpression, {
    fallback: "0 */15 * * * *",
    meaning: "token check (seconds first)",
  }),
  CRON_REPORTS: setting(cronExpression, { fallback: "*/30 * * * * *", meaning: "insights reports" }),
  CRON_MAINTENANCE: setting(cronExpression, { fallback: "0 0 * * * *", meaning: "clean-up" }),
  METRICS_PORT: setting(integer(1, 65_535), {
    meaning: "Prometheus metrics of any process; further ones on the machine take the next free port",
  }),
  METRICS_TOKEN: setting(secretText(16), {
    meaning: "web also serves `/metrics` to this Bearer token; 404 while unset",
  }),
  SANDBOX_PORT: setting(integer(1, 65_535), { fallback: "8090", meaning: "sandbox, loopback only" }),
  LOG_LEVEL: setting(oneOf("trace", "debug", "info", "warn", "error", "silent"), {
    fallback: "info",
    meaning: "least level that is written",
  }),
  LOG_FORMAT: setting(oneOf("logfmt", "json", "pretty"), {
    fallback: () => (process.stdout.isTTY ? "pretty" : "logfmt"),
    fallbackLabel: "`pretty` on a terminal, else `logfmt`",
    meaning: "`logfmt`, `json` or `pretty`",
  }),
};

function hostOf(address: string): string | undefined {
  return URL.canParse(address) ? new URL(address).host : undefined;
}
