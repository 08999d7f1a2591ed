import { randomBytes } from "node:crypto";
import { Redis } from "ioredis";
import { type Config, readConfig } from "../../../src/runtime/config/config.ts";
import { createDatabase, type Database } from "../../../src/store/database/database.ts";
import { allocateRedisDatabase, cloneDatabase } from "../../fixtures/servers/servers.ts";

/** A process that one contestant uses. It is stopped with the context; when it dies earlier, the run fails. */
export interface BenchProcess {
  pid: number;
  /** Matches of the pattern that the output had to contain. */
  ready: RegExpExecArray;
  stop(): Promise<void>;
}

export interface BenchContext {
  /** Settings of Herald's processes, with DATABASE_URL and REDIS_URL of this variant. Peers read the same. */
  settings: Record<string, string>;
  config: Config;
  /** For preparation and verification. */
  db: Database;
  isSmokeTest: boolean;
  /** Returns the number of items of a full run multiplied by the scale, or the number of the smoke test. */
  count(full: number, smoke: number): number;
  /** Registers work for the end of the variant; runs in reverse order. */
  teardown(work: () => unknown): void;
  /** Fails the running round, for example when a process dies. */
  fail(error: Error): void;
}

export interface RunningContext {
  context: BenchContext;
  /** Rejects when the context fails. */
  failed: Promise<never>;
  close(): Promise<void>;
}

export interface Scale {
  scale: number;
  isSmokeTest: boolean;
}

/** Creates a database and a Redis database for one variant, so that variants do not influence each other. */
export async function openContext({ scale, isSmokeTest }: Scale): Promise<RunningContext> {
  const teardowns: (() => unknown)[] = [];
  const teardown = (work: () => unknown) => void teardowns.push(work);
  let fail = (_: Error) => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {}); // a process may die between two rounds
  const redisUrl = await allocateRedisDatabase();
  teardown(() => clearRedis(redisUrl));
  const settings = heraldSettings(await cloneDatabase({ teardown }), redisUrl);
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  teardown(() => db.close());
  const count = (full: number, smoke: number) => (isSmokeTest ? smoke : Math.ceil(full * scale));
  const close = async () => {
    for (const work of teardowns.reverse()) await work();
  };
  const context = { settings, config, db, isSmokeTest, count, teardown, fail };
  return { context, failed, close };
}

async function clearRedis(url: string): Promise<void> {
  const redis = new Redis(url);
  await redis.flushdb();
  await redis.quit();
}

/** Settings without limits on the load, and with the log of production. */
const heraldSettings = (DATABASE_URL: string, REDIS_URL: string): Record<string, string> => ({
  DATABASE_URL,
  REDIS_URL,
  ENCRYPTION_KEYS: `bench:${randomBytes(32).toString("base64")}`,
  JWT_SECRET: randomBytes(32).toString("hex"),
  RATE_LIMIT_PER_MINUTE: "0",
  MAX_CONNECTIONS_PER_ADDRESS: "0",
  PRIVATE_DESTINATIONS: "127.0.0.0/8",
  HOST: "127.0.0.1",
  PORT: "0",
  LOG_FORMAT: "logfmt",
  LOG_LEVEL: "info",
});
