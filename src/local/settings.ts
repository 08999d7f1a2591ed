import { randomBytes } from "node:crypto";
import type { Environment } from "../runtime/settings.ts";
import { freePort, isFree } from "./server-process.ts";
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
  const port = await portFor(env.PORT);
  return {
    NODE_ENV: env.NODE_ENV || "development",
    HOST: env.HOST || "127.0.0.1",
    PORT: port,
    PUBLIC_URL: env.PUBLIC_URL || `http://localhost:${port}`,
    DATABASE_URL: servers.DATABASE_URL,
    // Beside a private server, that of a foreign one would send the migrations there.
    DATABASE_DIRECT_URL: (env.DATABASE_URL && env.DATABASE_DIRECT_URL) || "",
    REDIS_URL: servers.REDIS_URL,
    ENCRYPTION_KEYS:
      env.ENCRYPTION_KEYS || kept.ENCRYPTION_KEYS || `k1:${randomBytes(32).toString("base64")}`,
    JWT_SECRET: env.JWT_SECRET || kept.JWT_SECRET || randomBytes(32).toString("base64url"),
  };
}

async function portFor(wanted: string | undefined): Promise<string> {
  if (!wanted || wanted === "0") return String(await freePort(USUAL_PORT));
  if (/^\d+$/.test(wanted) && !(await isFree(Number(wanted))))
    throw new Error(`port ${wanted} is taken: choose another by PORT, or leave it unset`);
  return wanted;
}

/** Names the servers in the file that were private ones, so that they are not taken for somebody's own. */
const PRIVATE = "PRIVATE_SERVERS";

export const privateServers = (env: Environment): Record<string, string> => ({
  [PRIVATE]: (["DATABASE_URL", "REDIS_URL"] as const).filter((name) => !env[name]).join(","),
});

/** The environment without the private servers of an earlier start that were loaded into it from the file: nobody's own. */
export function withoutLoaded(env: Environment, kept: Record<string, string>): Environment {
  const ours = (kept[PRIVATE] ?? "").split(",");
  return Object.fromEntries(
    Object.entries(env).filter(([name, value]) => !(ours.includes(name) && value === kept[name])),
  );
}
