import { createHash, randomBytes } from "node:crypto";
import { execPipeline, type RedisClient } from "./redis.ts";

/**
 * The epoch names the current content of Redis. It changes when any stream's node comes back empty: rows that were queued
 * under another epoch then count as not queued, and the sweepers queue them again.
 */
export async function readQueueEpoch(redis: RedisClient, streamKeys: readonly string[]): Promise<string> {
  const parts = await Promise.all(streamKeys.map((key) => readStreamEpoch(redis, `${key}:epoch`)));
  return createHash("sha256").update(parts.join(".")).digest("base64url").slice(0, 16);
}

async function readStreamEpoch(redis: RedisClient, key: string): Promise<string> {
  const candidate = randomBytes(8).toString("hex");
  const [, stored] = await execPipeline(redis.pipeline().setnx(key, candidate).get(key));
  return String(stored);
}
