import { randomBytes } from "node:crypto";
import { createKey } from "../../src/domain/tenants/api-keys.ts";
import { processCommand, type Runtime } from "../../src/local/process-commands.ts";
import { type Config, readConfig } from "../../src/runtime/config/config.ts";
import { packageRoot } from "../../src/runtime/package-root.ts";
import type { Scope } from "../../src/schema/enumerations.ts";
import { createDatabase, type Database } from "../../src/store/database/database.ts";
import { createClient } from "../../src/store/tenants/clients.ts";
import { makeActor } from "../fixtures/tenants/actors.ts";
import type { ServerUrls } from "./case.ts";
import { type ListeningProcess, startListeningProcess } from "./processes.ts";

/** Settings of a web process on any free port, without a rate limit. */
export const webSettings = (servers: ServerUrls) => ({
  ...servers,
  ENCRYPTION_KEYS: `bench:${randomBytes(32).toString("base64")}`,
  JWT_SECRET: randomBytes(32).toString("hex"),
  RATE_LIMIT_PER_MINUTE: "10000000",
  HOST: "127.0.0.1",
  PORT: "0",
});

/** Starts web with the log settings of production. */
export const startWeb = (
  settings: Record<string, string>,
  runtime: Runtime = "node",
): Promise<ListeningProcess> =>
  startListeningProcess(
    processCommand(packageRoot(), "web", runtime),
    { ...settings, LOG_FORMAT: "logfmt", LOG_LEVEL: "info" },
    /http\.listening.*port=(\d+)/,
  );

export interface BenchClient {
  db: Database;
  config: Config;
  actor: ReturnType<typeof makeActor>;
}

/** Creates a client with an API key, as the command line does; `fill` adds what the case needs. */
export async function makeClient<T>(
  settings: Record<string, string>,
  scopes: readonly [Scope, ...Scope[]],
  fill: (client: BenchClient) => Promise<T>,
): Promise<{ key: string; filled: T }> {
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  try {
    const actor = makeActor((await createClient(db, "Bench")).id);
    const input = { name: "bench", scopes, expiresAt: null, production: false };
    const { text: key } = await createKey(db, actor, input);
    return { key, filled: await fill({ db, config, actor }) };
  } finally {
    await db.close();
  }
}
