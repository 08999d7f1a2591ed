import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Environment } from "../runtime/config/settings.ts";
import { serverAccount, startPostgres } from "./postgres.ts";
import { ensurePrograms, POSTGRES, type Program, REDIS } from "./programs.ts";
import { startRedis } from "./redis.ts";

interface ServersOptions {
  /** Contains the servers' data. */
  folder: string;
  env: Environment;
  durable: boolean;
  redisDatabases?: number;
  /** The server that runs as Redis. */
  redisProgram?: Program;
  say(line: string): void;
}

export interface Servers {
  DATABASE_URL: string;
  REDIS_URL: string;
  stop(): Promise<void>;
}

/** Returns the Postgres and Redis that the environment names, and starts private ones for those it does not. */
export async function startServers({
  folder,
  env,
  durable,
  redisDatabases,
  redisProgram = REDIS,
  say,
}: ServersOptions): Promise<Servers> {
  const needed: Program[] = [
    ...(env.DATABASE_URL ? [] : [POSTGRES]),
    ...(env.REDIS_URL ? [] : [redisProgram]),
  ];
  if (needed.length > 0) say(`Starting ${needed.map(({ name }) => name).join(" and ")} ...`);
  const programs = ensurePrograms(needed, env.PATH ?? "", say);
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  const [postgres, redis] = [programs.get(POSTGRES), programs.get(redisProgram)];
  const databases = redisDatabases === undefined ? {} : { databases: redisDatabases };
  const starts = await Promise.allSettled([
    postgres ? startPostgres({ program: postgres, folder: postgresFolder(folder), durable }) : undefined,
    redis ? startRedis({ program: redis, folder: join(folder, "redis"), durable, ...databases }) : undefined,
  ]);
  const started = starts.map((start) => (start.status === "fulfilled" ? start.value : undefined));
  const stop = async () => {
    for (const server of started) await server?.stop();
  };
  const failed = starts.find((start) => start.status === "rejected");
  if (failed) {
    await stop();
    throw failed.reason;
  }
  const [postgresUrl, redisUrl] = [started[0]?.url ?? env.DATABASE_URL, started[1]?.url ?? env.REDIS_URL];
  return { DATABASE_URL: postgresUrl as string, REDIS_URL: redisUrl as string, stop };
}

/** Returns a folder inside `folder`, or under /var/lib/herald when the user that Postgres runs as cannot access it. */
function postgresFolder(folder: string): string {
  const account = serverAccount();
  const isReachable = !account || spawnSync("test", ["-x", folder], account).status === 0;
  if (isReachable) return join(folder, "postgres");
  const folderHash = createHash("sha256").update(folder).digest("hex").slice(0, 8);
  const sharedFolder = join("/var/lib/herald", `${basename(dirname(folder))}-${folderHash}`);
  mkdirSync(sharedFolder, { recursive: true, mode: 0o711 });
  return join(sharedFolder, "postgres");
}
