import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { inspectSettings } from "../runtime/config/config.ts";
import type { Environment } from "../runtime/config/settings.ts";
import { freePort, isPortFree } from "./server-process.ts";
import type { Servers } from "./servers.ts";

const DEFAULT_PORT = 8080;
const DEFAULT_SANDBOX_PORT = 8090;

/** Addresses of the platforms; they point to the sandbox unless the environment sets them. */
const PLATFORM_URL_SETTINGS = [
  "AD_PLATFORM_URL",
  "AD_DIALOG_URL",
  "CHAT_PLATFORM_URL",
  "PHOTO_PLATFORM_URL",
  "SOCIAL_PLATFORM_URL",
  "SIGNUP_DIALOG_URL",
] as const;

const PLATFORM_APP_SETTINGS = [
  "SIGNUP_CONFIG_ID",
  "PLATFORM_APP_ID",
  "PLATFORM_APP_SECRET",
  "PLATFORM_VERIFY_TOKEN",
] as const;

/** Completes the settings of a local cluster. The environment wins; keys are kept, since stored data is encrypted with them. */
export async function localSettings(
  env: Environment,
  stored: Record<string, string>,
  servers: Pick<Servers, "DATABASE_URL" | "REDIS_URL">,
): Promise<Record<string, string>> {
  const port = await choosePort("PORT", env, [Number(stored.PORT), DEFAULT_PORT]);
  const sandboxPort = await choosePort("SANDBOX_PORT", env, [
    Number(stored.SANDBOX_PORT),
    DEFAULT_SANDBOX_PORT,
  ]);
  const mediaPort = await choosePort("SANDBOX_MEDIA_PORT", env, [
    Number(stored.SANDBOX_MEDIA_PORT),
    ...[Number(sandboxPort) + 1].filter((candidate) => String(candidate) !== port),
  ]);
  return {
    NODE_ENV: env.NODE_ENV || "development",
    HOST: env.HOST || "127.0.0.1",
    PORT: port,
    PUBLIC_URL: env.PUBLIC_URL || `http://localhost:${port}`,
    DATABASE_URL: servers.DATABASE_URL,
    // Ignored with a private server: migrations would otherwise run on the other server.
    DATABASE_DIRECT_URL: (env.DATABASE_URL && env.DATABASE_DIRECT_URL) || "",
    REDIS_URL: servers.REDIS_URL,
    ENCRYPTION_KEYS:
      env.ENCRYPTION_KEYS || stored.ENCRYPTION_KEYS || `k1:${randomBytes(32).toString("base64")}`,
    JWT_SECRET: env.JWT_SECRET || stored.JWT_SECRET || randomBytes(32).toString("base64url"),
    SANDBOX_PORT: sandboxPort,
    SANDBOX_MEDIA_PORT: mediaPort,
    SANDBOX_URL: sandboxUrl(sandboxPort),
    PRIVATE_DESTINATIONS: withLoopback(env.PRIVATE_DESTINATIONS),
    ...platformSettings({ ...env, SANDBOX_PORT: sandboxPort }),
    ...mediaSettings(env, mediaPort),
  };
}

/** Allows only the sandbox's media port, unless the environment sets hosts or another chat platform. */
const mediaSettings = (env: Environment, mediaPort: string): Record<string, string> =>
  env.PLATFORM_MEDIA_HOSTS || env.CHAT_PLATFORM_URL
    ? { PLATFORM_MEDIA_HOSTS: env.PLATFORM_MEDIA_HOSTS || "" }
    : { PLATFORM_MEDIA_HOSTS: `localhost:${mediaPort}` };

export const sandboxUrl = (port: string): string => `http://localhost:${port}`;

/** Adds loopback: the demo client's backend runs on this machine, as the sandbox's inbox or a developer's own server. */
function withLoopback(given = ""): string {
  const ranges = [...given.split(","), "127.0.0.0/8", "::1/128"].map((range) => range.trim());
  return [...new Set(ranges)].filter(Boolean).join(",");
}

/** Writes the defaults out: other tools read the file and do not know them. */
function platformSettings(env: Environment): Record<string, string> {
  const { config } = inspectSettings(env);
  return Object.fromEntries(
    [...PLATFORM_URL_SETTINGS, ...PLATFORM_APP_SETTINGS].map((name) => [
      name,
      env[name] || (config[name] ?? ""),
    ]),
  );
}

/** Returns the requested port, else the first free one of the preferred ports, else any free one. */
async function choosePort(name: string, env: Environment, preferred: readonly number[]): Promise<string> {
  const requested = env[name];
  if (!requested || requested === "0") return String(await firstFreePort(preferred));
  if (/^\d+$/.test(requested) && !(await isPortFree(Number(requested))))
    throw new Error(`port ${requested} is in use: set ${name} to another port, or leave it unset`);
  return requested;
}

async function firstFreePort(preferred: readonly number[]): Promise<number> {
  for (const port of preferred) if (port > 0 && (await isPortFree(port))) return port;
  return freePort();
}

/** Lists the settings in the file that point to private servers of an earlier start. */
const PRIVATE_SERVERS_SETTING = "PRIVATE_SERVERS";

export const privateServersSetting = (env: Environment): Record<string, string> => ({
  [PRIVATE_SERVERS_SETTING]: ["DATABASE_URL", "REDIS_URL", "PLATFORM_MEDIA_HOSTS", ...PLATFORM_URL_SETTINGS]
    .filter((name) => !env[name])
    .join(","),
});

/** Removes private servers that the user's shell loaded from the file: they are restarted, not used as external ones. */
export function withoutPrivateServers(env: Environment, stored: Record<string, string>): Environment {
  const privateNames = (stored[PRIVATE_SERVERS_SETTING] ?? "").split(",");
  return Object.fromEntries(
    Object.entries(env).filter(([name, value]) => !(privateNames.includes(name) && value === stored[name])),
  );
}

/** Reads settings from lines `NAME='value'`, which a shell can source. People also write `NAME=value` and `NAME="value"`. */
export function readEnvFile(file: string): Record<string, string> {
  if (!existsSync(file)) return {};
  const lines = readFileSync(file, "utf8").matchAll(/^[ \t]*(?:export[ \t]+)?([A-Z][A-Z0-9_]*)=(.*)$/gm);
  return Object.fromEntries(
    [...lines].map(([, name, value]) => [name as string, readValue(value as string)]),
  );
}

function readValue(text: string): string {
  const value = text.trim();
  const [, quoted] = /^'(.*)'$/.exec(value) ?? [];
  if (quoted !== undefined) return unescapeQuotes(quoted);
  return /^"(.*)"$/.exec(value)?.[1] ?? value;
}

/** Writes settings readable only by the owner, because they contain keys and passwords. */
export function writeEnvFile(file: string, settings: Record<string, string>): void {
  const lines = Object.entries(settings).map(([name, value]) => `${name}='${escapeQuotes(value)}'\n`);
  const tempFile = `${file}.new`;
  rmSync(tempFile, { force: true }); // the mode applies only to a new file
  writeFileSync(tempFile, lines.join(""), { mode: 0o600 });
  renameSync(tempFile, file); // atomic: losing the encryption keys would make all stored secrets unreadable
}

const ESCAPED_QUOTE = `'\\''`;
const escapeQuotes = (value: string) => value.replaceAll("'", ESCAPED_QUOTE);
const unescapeQuotes = (value: string) => value.replaceAll(ESCAPED_QUOTE, "'");
