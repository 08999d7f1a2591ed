import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chownSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { endLeftover } from "./leftover.ts";
import { type Account, freePort, greets, type LocalServer, startServer } from "./server-process.ts";

interface PostgresOptions {
  program: string;
  /** Holds the data directory and the password; kept between starts. */
  folder: string;
  /** false trades safety against a power cut for speed: for tests, which make all their data anew. */
  durable: boolean;
  /** Any free one, unless it must be found again where it was. */
  port?: number;
  /** Further lines of its configuration. */
  settings?: readonly string[];
}

/** A private PostgreSQL on loopback with its own data directory. The database is `herald`. */
export async function startPostgres(options: PostgresOptions): Promise<LocalServer> {
  const { program, folder, durable, port: wanted, settings: further = [] } = options;
  const account = serverAccount();
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (account) chownSync(folder, account.uid, account.gid);
  const data = join(folder, "data");
  const password = makeCluster(program, folder, data, account);
  await endLeftover(join(data, "postmaster.pid"), "postgres", "SIGINT");
  const port = wanted ?? (await freePort());
  const settings = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    `port=${port}`,
    "max_connections=200",
    ...(durable ? [] : ["fsync=off", "synchronous_commit=off", "full_page_writes=off"]),
    ...further,
  ];
  const args = ["-D", data, ...settings.flatMap((setting) => ["-c", setting])];
  const command = { program, args, folder, account, stopSignal: "SIGINT" as const };
  const server = await startServer(command, () => greets(port, STARTUP, isReadyForPassword));
  return { ...server, url: `postgres://herald:${password}@127.0.0.1:${port}/herald` };
}

/** PostgreSQL refuses to run as root; its packages bring a user for it. */
export function serverAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (flag: string) => spawnSync("id", [flag, "postgres"], { encoding: "utf8" });
  const [uid, gid] = [idOf("-u"), idOf("-g")];
  if (uid.status !== 0)
    throw new Error("PostgreSQL does not run as root, and there is no user `postgres` to run it as");
  return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
}

/** Makes the data directory at the first start; answers the password, which lies beside it. */
function makeCluster(program: string, folder: string, data: string, account: Account | undefined): string {
  const passwordFile = join(folder, "password");
  if (existsSync(join(data, "PG_VERSION"))) return readFileSync(passwordFile, "utf8");
  rmSync(data, { recursive: true, force: true }); // what an interrupted first start left
  const password = randomBytes(18).toString("base64url");
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (account) chownSync(passwordFile, account.uid, account.gid);
  const options = ["--username=herald", "--auth=scram-sha-256", `--pwfile=${passwordFile}`];
  const args = ["-D", data, ...options, "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"];
  const made = spawnSync(join(dirname(program), "initdb"), args, {
    encoding: "utf8",
    cwd: folder,
    ...(account ?? {}),
  });
  if (made.status !== 0) throw new Error(`initdb failed:\n${made.stderr}`);
  createDatabase(program, data, folder, account);
  return password;
}

/** In single-user mode, so that it exists before the server takes its first connection. */
function createDatabase(program: string, data: string, folder: string, account: Account | undefined): void {
  const input = "create database herald;\n";
  const made = spawnSync(program, ["--single", "-D", data, "postgres"], {
    input,
    cwd: folder,
    ...(account ?? {}),
  });
  if (made.status !== 0) {
    rmSync(data, { recursive: true, force: true });
    throw new Error(`the database could not be made:\n${made.stderr.toString()}`);
  }
}

/** A startup message for the user `herald`: a server that is up asks for the password (`R`), one that is not yet says so. */
const STARTUP = startupMessage("user\0herald\0database\0herald\0\0");

function startupMessage(parameters: string): Buffer {
  const body = Buffer.from(parameters, "latin1");
  const head = Buffer.alloc(8);
  head.writeInt32BE(8 + body.length, 0);
  head.writeInt32BE(196_608, 4); // protocol 3.0
  return Buffer.concat([head, body]);
}

const isReadyForPassword = (answer: string) => answer.startsWith("R");
