import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CloseEvent, createConcurrently, LogError, Logger, LogOutput } from "concurrently";
import { SECOND } from "../runtime/durations.ts";
import { stopLeftover } from "./leftover-processes.ts";
import { processCommand, type Runtime } from "./process-commands.ts";

/** The processes of a local cluster, each with the colour of its lines. */
const PROCESSES = { sandbox: "green", web: "cyan", dispatcher: "magenta", scheduler: "yellow" };

const NAME_WIDTH = Math.max(...Object.keys(PROCESSES).map((name) => name.length));

/** A process has 25 s to end in order; then it is ended. */
const SHUTDOWN_TIMEOUT_MS = 27 * SECOND;

interface ClusterOptions {
  root: string;
  /** Where the process ids are kept while they run. */
  folder: string;
  runtime: Runtime;
  settings: Record<string, string>;
}

export interface Cluster {
  /** Asks all processes to end. */
  stop(): void;
  /** Once all have ended: whether each of them did so in order. */
  ended: Promise<boolean>;
}

const pidFileIn = (folder: string) => (name: string) => join(folder, `${name}.pid`);

/** Ends the processes of an earlier start, which was killed and could not. */
export async function stopLeftoverCluster(folder: string): Promise<void> {
  for (const name of Object.keys(PROCESSES))
    await stopLeftover({ pidFile: pidFileIn(folder)(name), marker: startedFromArgument(folder) }, "SIGTERM");
}

/** Runs the processes, their lines prefixed and coloured. When one ends by itself, the others are ended too. */
export function startCluster({ root, folder, runtime, settings }: ClusterOptions): Cluster {
  const pidFile = pidFileIn(folder);
  const logger = new Logger({ prefixFormat: "{name} |" });
  const commands = Object.entries(PROCESSES).map(([name, prefixColor]) => ({
    name: name.padEnd(NAME_WIDTH),
    prefixColor,
    // exec: the shell gives way to the process, so that signals reach it and nothing is left between.
    command: `exec ${[...processCommand(root, name, runtime), startedFromArgument(folder)].map(shellQuote).join(" ")}`,
    env: settings,
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
        logger.logGlobalEvent(`${name.trim()} ended by ${describeExit(exitCode)}, so everything is stopped`);
      stop();
    });
  // One that was stopped before it could listen to signals ends by the signal itself.
  const exitedCleanly = (events: CloseEvent[]) =>
    events.every(({ exitCode }) => exitCode === 0 || exitCode === "SIGTERM");
  const ended = cluster.result.then(exitedCleanly, exitedCleanly).finally(() => {
    for (const name of Object.keys(PROCESSES)) rmSync(pidFile(name), { force: true });
  });
  return { stop, ended };
}

/** An argument that the processes do not read: it tells whose they are. */
const startedFromArgument = (folder: string) => `--started-from=${folder}`;

const describeExit = (exitCode: number | string) =>
  typeof exitCode === "string" ? exitCode : `exit code ${exitCode}`;

/** One that has just ended by itself need not be ended any more. */
function killProcess(pid: number, signal?: string): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as { code?: string }).code !== "ESRCH") throw error;
  }
}

const shellQuote = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;
