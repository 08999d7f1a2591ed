import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stopLeftover } from "./leftover-processes.ts";
import { freePort, isResponding, type LocalServer, startServer } from "./server-process.ts";

interface RedisOptions {
  program: string;
  folder: string;
  /** false keeps nothing on disk. */
  durable: boolean;
  /** How many numbered databases it has. */
  databases?: number;
  /** Any free one, unless it must be found again where it was. */
  port?: number;
  /** Further lines of its configuration. */
  settings?: readonly string[];
}

/** A private Redis on loopback. Its settings go through a file: a password in the arguments is seen by every user. */
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
    await stopLeftover({ pidFile, marker: `redis-server 127.0.0.1:${previousPort}` }, "SIGTERM");
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

/** The port it had at the last start: the only thing by which its command line can be told from another's. */
function readPort(file: string): number | undefined {
  const port = existsSync(file) ? /^port (\d+)$/m.exec(readFileSync(file, "utf8"))?.[1] : undefined;
  return port === undefined ? undefined : Number(port);
}

function readOrCreatePassword(file: string): string {
  if (!existsSync(file)) writeFileSync(file, randomBytes(18).toString("base64url"), { mode: 0o600 });
  return readFileSync(file, "utf8");
}
