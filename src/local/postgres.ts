import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { stopLeftover } from "./leftover-processes.ts";
import { type Account, freePort, isResponding, type LocalServer, startServer } from "./server-process.ts";

interface PostgresOptions {
  program: string;
  /** Contains the data directory and the password; kept between starts. */
  folder: string;
  /** False is faster but loses data on a power failure; tests use it because they create all their data. */
  durable: boolean;
  /** Defaults to the port of the last start, or a free one. */
  port?: number;
  /** Additional configuration lines. */
  settings?: readonly string[];
}

/** Starts a private PostgreSQL on loopback with its own data directory. The database is `herald`. */
export async function startPostgres(options: PostgresOptions): Promise<LocalServer> {
  const { program, folder, durable, port: requestedPort, settings: extraSettings = [] } = options;
  const account = serverAccount();
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (account) chownSync(folder, account.uid, account.gid);
  const data = join(folder, "data");
  const password = initDataDirectory({ program, folder, data, account, durable });
  await stopLeftover({ pidFile: join(data, "postmaster.pid"), marker: `-D ${data} ` }, "SIGINT");
  const port = requestedPort ?? (await reusePort(join(folder, "port")));
  const settings = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    `port=${port}`,
    "max_connections=200",
    ...(durable ? [] : ["fsync=off", "synchronous_commit=off", "full_page_writes=off"]),
    ...extraSettings,
  ];
  const args = ["-D", data, ...settings.flatMap((setting) => ["-c", setting])];
  const command = { program, args, folder, account, stopSignal: "SIGINT" as const };
  const server = await startServer(command, () => isResponding(port, STARTUP_MESSAGE, isReadyForPassword));
  return { ...server, url: `postgres://herald:${password}@127.0.0.1:${port}/herald` };
}

/** Returns the port of the last start if it is free, so that URLs in use stay valid; otherwise a free port. */
async function reusePort(file: string): Promise<number> {
  const port = await freePort(existsSync(file) ? Number(readFileSync(file, "utf8")) : undefined);
  writeFileSync(file, String(port));
  return port;
}

/** Returns the account `postgres` when running as root: PostgreSQL refuses to run as root. */
export function serverAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (flag: string) => spawnSync("id", [flag, "postgres"], { encoding: "utf8" });
  const [uid, gid] = [idOf("-u"), idOf("-g")];
  if (uid.status !== 0)
    throw new Error("PostgreSQL cannot run as root: create the user `postgres`, or run as another user");
  return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
}

interface DataDirectoryOptions extends Pick<PostgresOptions, "program" | "folder" | "durable"> {
  data: string;
  account: Account | undefined;
}

/** Creates the data directory at the first start. Returns the password, which is stored beside it. */
function initDataDirectory({ program, folder, data, account, durable }: DataDirectoryOptions): string {
  const passwordFile = join(folder, "password");
  if (existsSync(data)) return readFileSync(passwordFile, "utf8");
  const unfinished = join(folder, "data.new");
  rmSync(unfinished, { recursive: true, force: true }); // left by an interrupted first start
  const password = randomBytes(18).toString("base64url");
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (account) chownSync(passwordFile, account.uid, account.gid);
  const run = (name: string, args: readonly string[], input = "") => {
    const tool = join(dirname(program), name);
    const { status, stderr } = spawnSync(tool, args, {
      input,
      encoding: "utf8",
      cwd: folder,
      ...(account ?? {}),
    });
    if (status !== 0) throw new Error(`${name} failed:\n${stderr}`);
  };
  // scram-sha-256 is slow on purpose, and tests log in thousands of times.
  const authMethod = durable ? "scram-sha-256" : "md5";
  const authArgs = ["--username=herald", `--auth=${authMethod}`, `--pwfile=${passwordFile}`];
  const encodingArgs = ["--encoding=UTF8", "--locale=C", ...(durable ? [] : ["--no-sync"])];
  run("initdb", ["-D", unfinished, ...authArgs, ...encodingArgs, "--no-instructions"]);
  // Single-user mode, so that the database exists before the server accepts connections.
  run("postgres", ["--single", "-D", unfinished, "postgres"], "create database herald;\n");
  renameSync(unfinished, data);
  return password;
}

/** A startup message for the user `herald`. A ready server requests the password (`R`); one that is starting sends an error. */
const STARTUP_MESSAGE = startupMessage("user\0herald\0database\0herald\0\0");

function startupMessage(parameters: string): Buffer {
  const body = Buffer.from(parameters, "latin1");
  const head = Buffer.alloc(8);
  head.writeInt32BE(8 + body.length, 0);
  head.writeInt32BE(196_608, 4); // protocol 3.0
  return Buffer.concat([head, body]);
}

const isReadyForPassword = (answer: string) => answer.startsWith("R");
