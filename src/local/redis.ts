import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stopLeftover } from "./leftover-processes.ts";
import { freePort, isResponding, type LocalServer, startServer } from "./server-process.ts";

interface RedisOptions {
  program: string;
  folder: string;
  /** False keeps no data on disk. */
  durable: boolean;
  /** Number of databases. */
  databases?: number;
  /** Defaults to the port of the last start, or a free one. */
  port?: number;
  /** Additional configuration lines. */
  settings?: readonly string[];
}

/** Starts a private Redis on loopback. Its settings are in a file, because every user can see a password in arguments. */
export async function startRedis(options: RedisOptions): Promise<LocalServer> {
  const {
    program,
    folder,
    durable,
    databases = 16,
    port: requestedPort,
    settings: extraSettings = [],
  } = options;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const [file, pidFile] = [join(folder, "redis.conf"), join(folder, "redis.pid")];
  const previousPort = readPort(file);
  if (previousPort !== undefined)
    await stopLeftover({ pidFile, marker: `-server 127.0.0.1:${previousPort}` }, "SIGTERM");
  const port = requestedPort ?? (await freePort(previousPort));
  const password = readOrCreatePassword(join(folder, "password"));
  const settings = [
    "bind 127.0.0.1",
    `port ${port}`,
    `requirepass ${password}`,
    `databases ${databases}`,
    `dir "${folder}"`,
    `pidfile "${pidFile}"`,
    ...(durable ? ["appendonly yes"] : ["appendonly no", 'save ""']),
    ...extraSettings,
  ];
  writeFileSync(file, `${settings.join("\n")}\n`);
  chmodSync(file, 0o600);
  const command = { program, args: [file], folder, account: undefined, stopSignal: "SIGTERM" as const };
  const authAndPing = `AUTH ${password}\r\nPING\r\n`;
  const server = await startServer(command, () =>
    isResponding(port, authAndPing, (answer) => answer.startsWith("+OK")),
  );
  return { ...server, url: `redis://:${password}@127.0.0.1:${port}` };
}

/** Returns the port of the last start, which identifies the command line of a leftover process. */
function readPort(file: string): number | undefined {
  const port = existsSync(file) ? /^port (\d+)$/m.exec(readFileSync(file, "utf8"))?.[1] : undefined;
  return port === undefined ? undefined : Number(port);
}

function readOrCreatePassword(file: string): string {
  if (!existsSync(file)) writeFileSync(file, randomBytes(18).toString("base64url"), { mode: 0o600 });
  return readFileSync(file, "utf8");
}
