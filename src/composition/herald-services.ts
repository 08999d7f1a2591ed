import { hostname, userInfo } from "node:os";
import { type DependencyContainer, container as processContainer } from "tsyringe";
import type { BaseContext, CommandContext } from "../commands/command-line/command.ts";
import type { Platforms } from "../platforms/platforms.ts";
import { createProducerClient, type RedisClient } from "../queue/redis.ts";
import { readConfig } from "../runtime/config/config.ts";
import { createLog } from "../runtime/log.ts";
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

/** Completes the context for a command of an operator. Settings are read and connections opened on first use. */
export function openCommandServices(
  base: BaseContext,
  container: DependencyContainer = processContainer,
): CommandContext & { close(): Promise<void> } {
  let database: Database | undefined;
  let redis: RedisClient | undefined;
  let platforms: Platforms | undefined;
  provide(container, CONFIG, () => readConfig(base.env));
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
    ...base,
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
    async close() {
      platforms?.close();
      redis?.disconnect();
      await database?.close();
    },
  };
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
