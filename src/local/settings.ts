import { randomBytes } from "node:crypto";
import { createServer } from "node:net";
import type { Environment } from "../runtime/settings.ts";
import { freePort } from "./server-process.ts";
import type { Servers } from "./servers.ts";

const USUAL_PORT = 8080;

/**
 * The settings of a local cluster that nobody has made yet. What the environment says wins; keys are kept from the
 * start before, or nothing stored then could be opened again.
 */
export async function localSettings(
  env: Environment,
  kept: Record<string, string>,
  servers: Pick<Servers, "DATABASE_URL" | "REDIS_URL">,
): Promise<Record<string, string>> {
  const port = env.PORT && env.PORT !== "0" ? env.PORT : String(await usualOrFreePort());
  return {
    NODE_ENV: env.NODE_ENV || "development",
    HOST: env.HOST || "127.0.0.1",
    PORT: port,
    PUBLIC_URL: env.PUBLIC_URL || `http://localhost:${port}`,
    DATABASE_URL: servers.DATABASE_URL,
    // Of a foreign server it would send the migrations there.
    DATABASE_DIRECT_URL: (env.DATABASE_URL && env.DATABASE_DIRECT_URL) || servers.DATABASE_URL,
    REDIS_URL: servers.REDIS_URL,
    ENCRYPTION_KEYS:
      env.ENCRYPTION_KEYS || kept.ENCRYPTION_KEYS || `k1:${randomBytes(32).toString("base64")}`,
    JWT_SECRET: env.JWT_SECRET || kept.JWT_SECRET || randomBytes(32).toString("base64url"),
  };
}

function usualOrFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", () => freePort().then(resolve, reject));
    probe.listen(USUAL_PORT, "127.0.0.1", () => probe.close(() => resolve(USUAL_PORT)));
  });
}
