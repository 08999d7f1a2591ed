import { cpus, loadavg, release, type as systemName, totalmem } from "node:os";
import { Redis } from "ioredis";
import pg from "pg";

/** Describes the machine and the versions of the programs in one line. */
export async function describeMachine(databaseUrl: string, redisUrl: string): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ server_version: string }>("show server_version");
  await client.end();
  const redis = new Redis(redisUrl);
  const redisVersion = /redis_version:(\S+)/.exec(await redis.info("server"))?.[1];
  await redis.quit();
  const [processor] = cpus();
  const hardware = `${cpus().length} cores (${processor?.model.trim()}), ${Math.round(totalmem() / 1024 ** 3)} GB`;
  const [postgresVersion] = (rows[0]?.server_version ?? "").split(" ");
  const programs = `Node.js ${process.version}, PostgreSQL ${postgresVersion}, Redis ${redisVersion}`;
  return `${hardware}, ${systemName()} ${release()}, ${programs}`;
}

/** The load average of the last minute, measured before the run: other work makes the figures worse. */
export const readLoadAverage = (): number => loadavg()[0] ?? 0;
