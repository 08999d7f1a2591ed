import { hostname, userInfo } from "node:os";
import { type DependencyContainer, container as processContainer } from "tsyringe";
import { heartbeat } from "../../workers/heartbeat.ts";
import { claimAndRun, type Job } from "../../workers/scheduler/cron.ts";
import type { BaseContext, CommandContext, JobRun } from "../commands/command-line/command.ts";
import type { Platforms } from "../platforms/platforms.ts";
import { createProducerClient, type RedisClient } from "../queue/redis.ts";
import { readConfig } from "../runtime/config/config.ts";
import { newId } from "../runtime/ids.ts";
import { createLog } from "../runtime/log.ts";
import { createMetrics } from "../runtime/metrics.ts";
import { NO_TRACKER } from "../runtime/watchdog.ts";
import type { JobName } from "../schema/enumerations.ts";
import { createPasswords } from "../security/passwords.ts";
import { createSecretBox } from "../security/secret-box.ts";
import { createUserTokens } from "../security/user-tokens.ts";
import { createDatabase, type Database } from "../store/database/database.ts";
import { registerPlatforms } from "./process.ts";
import { cronTable } from "./scheduler.ts";
import {
  CONFIG,
  DATABASE,
  LOG,
  METRICS,
  PASSWORDS,
  PLATFORMS,
  provide,
  REDIS,
  type Resolved,
  resolve,
  resolveAll,
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
  provide(container, METRICS, () => createMetrics(SILENT_LOG.process));
  registerPlatforms(container, { isBackground: true });
  provide(container, PASSWORDS, () => createPasswords());
  provide(container, USER_TOKENS, (c) => createUserTokens(resolve(c, CONFIG)));
  provide(container, SECRET_BOX, (c) => createSecretBox(resolve(c, CONFIG).ENCRYPTION_KEYS));
  const openPlatforms = (): Platforms => {
    platforms = resolve(container, PLATFORMS);
    return platforms;
  };
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
      return openPlatforms();
    },
    operator: `${accountName()} at ${hostname()}`,
    runJob: (name, signal) =>
      runJob({ ...resolveAll(container, JOB_TOKENS), ads: openPlatforms().ads, base }, name, signal),
    async close() {
      platforms?.close();
      redis?.disconnect();
      await database?.close();
    },
  };
}

const JOB_TOKENS = { config: CONFIG, db: DATABASE, secretBox: SECRET_BOX } as const;

interface JobParts extends Resolved<typeof JOB_TOKENS> {
  ads: Platforms["ads"];
  base: BaseContext;
}

/** Runs a job as a scheduler does. The heartbeat keeps schedulers from running it at the same time. */
async function runJob(
  { base, config, db, secretBox, ads }: JobParts,
  name: JobName,
  signal: AbortSignal,
): Promise<JobRun | undefined> {
  const log = createLog({ ...JOB_LOG, write: (line) => base.say(line.trimEnd()) });
  const parts = { db, secretBox, ads, log, tracker: NO_TRACKER, now: Date.now };
  const job = cronTable(config, parts).find((candidate) => candidate.name === name) as Job;
  const worker = newId("wrk");
  const ownHeartbeat = heartbeat({ id: worker, process: "command", db, log });
  await ownHeartbeat.start?.({ fail: () => {} });
  try {
    const claiming = { db, tracker: NO_TRACKER, signal, onAbandoned: () => {} };
    return await claimAndRun(claiming, job, { job: name, scheduledAt: new Date(), worker });
  } finally {
    await ownHeartbeat.close?.();
  }
}

/** What a job warns of, beside the result of its command. */
const JOB_LOG = { LOG_LEVEL: "warn", LOG_FORMAT: "logfmt", process: "herald" } as const;

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
