import { existsSync } from "node:fs";
import { constants, hostname, userInfo } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { DependencyContainer } from "tsyringe";
import type { CommandContext } from "../commands/command-line/command.ts";
import { createProgress } from "../commands/command-line/output.ts";
import { readEnvFile } from "../local/settings.ts";
import type { Platforms } from "../platforms/platforms.ts";
import { createProducerClient, type RedisClient } from "../queue/redis.ts";
import { readConfig } from "../runtime/config/config.ts";
import type { Environment } from "../runtime/config/settings.ts";
import { createLog } from "../runtime/log.ts";
import { packageRoot } from "../runtime/package-root.ts";
import { createPasswords } from "../security/passwords.ts";
import { createSecretBox } from "../security/secret-box.ts";
import { createUserTokens } from "../security/user-tokens.ts";
import { createDatabase, type Database } from "../store/database/database.ts";
import { registerPlatforms } from "./process.ts";
import {
  CONFIG,
  DATABASE,
  LOG,
  PASSWORDS,
  PLATFORMS,
  provide,
  REDIS,
  resolve,
  SECRET_BOX,
  USER_TOKENS,
} from "./tokens.ts";

/** Creates the context of a command. Settings are read and connections opened on first use. */
export function openCommandContext(
  container: DependencyContainer,
  environment: Environment,
  folder?: string,
): CommandContext & { close(): Promise<void> } {
  const { env, settingsFile } = withStoredSettings(environment, folder);
  let database: Database | undefined;
  let redis: RedisClient | undefined;
  let platforms: Platforms | undefined;
  provide(container, CONFIG, () => readConfig(env));
  provide(container, DATABASE, (c) => {
    database = createDatabase(resolve(c, CONFIG), () => {}, { statementTimeoutMs: "endless" });
    return database;
  });
  provide(container, REDIS, (c) => {
    redis = createProducerClient(resolve(c, CONFIG));
    return redis;
  });
  provide(container, LOG, () => createLog(SILENT_LOG));
  registerPlatforms(container, { isBackground: true });
  provide(container, PASSWORDS, () => createPasswords());
  provide(container, USER_TOKENS, (c) => createUserTokens(resolve(c, CONFIG)));
  provide(container, SECRET_BOX, (c) => createSecretBox(resolve(c, CONFIG).ENCRYPTION_KEYS));
  return {
    env,
    settingsFile,
    get config() {
      return resolve(container, CONFIG);
    },
    get db() {
      return resolve(container, DATABASE);
    },
    get redis() {
      return resolve(container, REDIS);
    },
    get passwords() {
      return resolve(container, PASSWORDS);
    },
    get tokens() {
      return resolve(container, USER_TOKENS);
    },
    get secretBox() {
      return resolve(container, SECRET_BOX);
    },
    get log() {
      return resolve(container, LOG);
    },
    get platforms() {
      platforms = resolve(container, PLATFORMS);
      return platforms;
    },
    operator: `${accountName()} at ${hostname()}`,
    say: (line) => void process.stderr.write(`${line}\n`),
    readLine: readFirstLine,
    progress: (label, total) => createProgress(process.stderr, label, total),
    onInterrupt,
    async close() {
      platforms?.close();
      redis?.disconnect();
      await database?.close();
    },
  };
}

/** The environment; while it has no DATABASE_URL, completed by the settings that `npm start` stored in its folder. */
function withStoredSettings(env: Environment, folder = join(packageRoot(), ".herald")) {
  const file = join(folder, "env");
  if (env.DATABASE_URL || !existsSync(file)) return { env, settingsFile: null };
  const given = Object.entries(env).filter(([, value]) => value !== undefined && value !== "");
  return { env: { ...readEnvFile(file), ...Object.fromEntries(given) }, settingsFile: file };
}

/** The verb reports failures itself. */
const SILENT_LOG = { LOG_LEVEL: "silent", LOG_FORMAT: "json", process: "herald" } as const;

/** Falls back where the user of a container has an id and no name. */
function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    return "unknown user";
  }
}

async function readFirstLine(): Promise<string> {
  const lines = createInterface({ input: process.stdin });
  try {
    for await (const line of lines) return line;
    return "";
  } finally {
    lines.close();
  }
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Runs the cleanup before one of these signals ends the process. Returns a function that stops listening. */
function onInterrupt(cleanUp: () => void): () => void {
  const end = (signal: NodeJS.Signals) => {
    cleanUp();
    process.exit(128 + constants.signals[signal]); // the exit code of a shell for a program ended by a signal
  };
  for (const signal of SIGNALS) process.once(signal, end);
  return () => {
    for (const signal of SIGNALS) process.off(signal, end);
  };
}
