import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CloseEvent, createConcurrently, LogError, Logger, LogOutput } from "concurrently";
import { SECOND } from "../runtime/durations.ts";
import { stopLeftover } from "./leftover-processes.ts";

/** The processes of a local cluster and the colours of their log lines. */
const PROCESSES = { sandbox: "green", web: "cyan", dispatcher: "magenta", scheduler: "yellow" };

const NAME_WIDTH = Math.max(...Object.keys(PROCESSES).map((name) => name.length));

/** Processes still running this long after SIGTERM are killed; an orderly shutdown takes at most 25 s. */
const SHUTDOWN_TIMEOUT_MS = 27 * SECOND;

interface ClusterOptions {
  root: string;
  /** Contains the pid files while the processes run. */
  folder: string;
  runtime: Runtime;
  settings: Record<string, string>;
  /** The API key with which the sandbox acts as the demo client's backend; no other process gets it. */
  demoApiKey: string;
}

export interface Cluster {
  /** Sends SIGTERM to all processes. */
  stop(): void;
  /** Resolves when all processes have exited; true when all exited cleanly. */
  ended: Promise<boolean>;
}

const pidFileIn = (folder: string) => (name: string) => join(folder, `${name}.pid`);

/** Stops the processes of an earlier start that was killed before it could stop them. */
export async function stopLeftoverCluster(folder: string): Promise<void> {
  for (const name of Object.keys(PROCESSES))
    await stopLeftover({ pidFile: pidFileIn(folder)(name), marker: startedFromArgument(folder) }, "SIGTERM");
}

/**
 * Runs the processes with prefixed, coloured log lines. The cluster is running until `stop` is called or one process
 * exits, then stopping until all have exited; both send SIGTERM to all, and SIGKILL after SHUTDOWN_TIMEOUT_MS.
 */
export function startCluster({ root, folder, runtime, settings, demoApiKey }: ClusterOptions): Cluster {
  const pidFile = pidFileIn(folder);
  const logger = new Logger({ prefixFormat: "{name} |" });
  const commands = Object.entries(PROCESSES).map(([name, prefixColor]) => ({
    name: name.padEnd(NAME_WIDTH),
    prefixColor,
    // exec replaces the shell, so that signals reach the process.
    command: `exec ${[...processCommand(root, name, runtime), startedFromArgument(folder)].map(shellQuote).join(" ")}`,
    env: name === "sandbox" ? { ...settings, DEMO_API_KEY: demoApiKey } : withMetricsPort(settings, name),
  }));
  const cluster = createConcurrently(commands, {
    logger,
    outputStream: process.stdout,
    kill: killProcess,
    controllers: [new LogError({ logger }), new LogOutput({ logger })],
  });
  for (const command of cluster.commands) writeFileSync(pidFile(command.name.trim()), String(command.pid));
  let isStopping = false;
  const stop = () => {
    if (isStopping) return;
    isStopping = true;
    const killAll = (signal: NodeJS.Signals) => {
      for (const command of cluster.commands) command.kill(signal);
    };
    killAll("SIGTERM");
    setTimeout(killAll, SHUTDOWN_TIMEOUT_MS, "SIGKILL").unref();
  };
  for (const command of cluster.commands)
    command.close.subscribe(({ exitCode, command: { name } }) => {
      if (!isStopping)
        logger.logGlobalEvent(`${name.trim()} exited (${describeExit(exitCode)}); stopping all processes`);
      stop();
    });
  // A process stopped before it installed its signal handlers exits by SIGTERM itself.
  const exitedCleanly = (events: CloseEvent[]) =>
    events.every(({ exitCode }) => exitCode === 0 || exitCode === "SIGTERM");
  const ended = cluster.result.then(exitedCleanly, exitedCleanly).finally(() => {
    for (const name of Object.keys(PROCESSES)) rmSync(pidFile(name), { force: true });
  });
  return { stop, ended };
}

/** An argument that the processes ignore: it identifies leftover processes of this folder. */
const startedFromArgument = (folder: string) => `--started-from=${folder}`;

const describeExit = (exitCode: number | string) =>
  typeof exitCode === "string" ? exitCode : `exit code ${exitCode}`;

/** Ignores a process that has already exited. */
function killProcess(pid: number, signal?: string): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as { code?: string }).code !== "ESRCH") throw error;
  }
}

const shellQuote = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;

/** Each process of a local cluster has a fixed port after METRICS_PORT, so that scrapes need not look for it. */
const METRICS_PORT_OFFSETS: Readonly<Record<string, number>> = { web: 0, dispatcher: 1, scheduler: 2 };

/** The settings of one process: METRICS_PORT moved by its offset; a wrong value stays, so that the process reports it. */
export function withMetricsPort(
  settings: Record<string, string>,
  processName: string,
): Record<string, string> {
  const port = Number(settings.METRICS_PORT);
  const offset = METRICS_PORT_OFFSETS[processName];
  if (!Number.isInteger(port) || port <= 0 || offset === undefined) return settings;
  return { ...settings, METRICS_PORT: String(port + offset) };
}

/** The permissions that the processes need under Deno. The command line also needs --allow-write. */
const DENO_PERMISSIONS = ["--allow-net", "--allow-env", "--allow-read", "--allow-sys"] as const;

export type Runtime = "node" | "deno";

/** Returns the program and arguments that run one file of bin/: the built file under Node, the source under Deno. */
export function processCommand(root: string, name: string, runtime: Runtime): [string, ...string[]] {
  if (runtime === "node") return [process.execPath, join(root, "dist/bin", `${name}.js`)];
  const permissions = [...DENO_PERMISSIONS, ...(name === "herald" ? ["--allow-write"] : [])];
  return [denoProgram(root), "run", "--no-prompt", ...permissions, join(root, "bin", `${name}.ts`)];
}

let denoPath: string | undefined;

/** Returns the real deno executable, cached: the npm package's wrapper does not forward signals. */
export function denoProgram(root: string): string {
  denoPath ??= findDenoPath(root);
  return denoPath;
}

function findDenoPath(root: string): string {
  const wrapper = join(root, "node_modules/deno/bin.cjs");
  const result = spawnSync(process.execPath, [wrapper, "eval", "console.log(Deno.execPath())"], {
    encoding: "utf8",
  });
  if (result.status !== 0) throw new Error(`deno cannot be run: ${result.stderr || result.error?.message}`);
  return result.stdout.trim();
}
