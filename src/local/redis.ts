import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { endLeftover } from "./leftover.ts";
import { freePort, greets, type LocalServer, startServer } from "./server-process.ts";

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
  const { program, folder, durable, databases = 16, port: wanted, settings: further = [] } = options;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  await endLeftover(join(folder, "redis.pid"), "redis-server", "SIGTERM");
  const port = wanted ?? (await freePort());
  const password = keptPassword(join(folder, "password"));
  const settings = [
    "bind 127.0.0.1",
    `port ${port}`,
    `requirepass ${password}`,
    `databases ${databases}`,
    `dir "${folder}"`,
    `pidfile "${join(folder, "redis.pid")}"`,
    ...(durable ? ["appendonly yes"] : ["appendonly no", 'save ""']),
    ...further,
  ];
  const file = join(folder, "redis.conf");
  writeFileSync(file, `${settings.join("\n")}\n`);
  chmodSync(file, 0o600);
  const command = { program, args: [file], folder, account: undefined, stopSignal: "SIGTERM" as const };
  const hello = `AUTH ${password}\r\nPING\r\n`;
  const server = await startServer(command, () => greets(port, hello, (answer) => answer.startsWith("+OK")));
  return { ...server, url: `redis://:${password}@127.0.0.1:${port}` };
}

function keptPassword(file: string): string {
  if (!existsSync(file)) writeFileSync(file, randomBytes(18).toString("base64url"), { mode: 0o600 });
  return readFileSync(file, "utf8");
}
