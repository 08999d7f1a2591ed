import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CloseEvent, createConcurrently, LogError, Logger, LogOutput } from "concurrently";
import { SECOND } from "../runtime/durations.ts";
import { endLeftover } from "./leftover.ts";
import { processCommand, type Runtime } from "./process-commands.ts";

/** The processes of a local cluster, each with the colour of its lines. */
const PROCESSES = { sandbox: "green", web: "cyan", dispatcher: "magenta", scheduler: "yellow" };

const WIDEST = Math.max(...Object.keys(PROCESSES).map((name) => name.length));

/** A process has 25 s to end in order; then it is ended. */
const PATIENCE = 27 * SECOND;

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
export async function endLeftoverCluster(folder: string): Promise<void> {
  for (const name of Object.keys(PROCESSES))
    await endLeftover({ pidFile: pidFileIn(folder)(name), words: mark(folder) }, "SIGTERM");
}

/** Runs the processes, their lines prefixed and coloured. When one ends by itself, the others are ended too. */
export function startCluster({ root, folder, runtime, settings }: ClusterOptions): Cluster {
  const pidFile = pidFileIn(folder);
  const logger = new Logger({ prefixFormat: "{name} |" });
  const commands = Object.entries(PROCESSES).map(([name, prefixColor]) => ({
    name: name.padEnd(WIDEST),
    prefixColor,
    // exec: the shell gives way to the process, so that signals reach it and nothing is left between.
    command: `exec ${[...processCommand(root, name, runtime), mark(folder)].map(quoted).join(" ")}`,
    env: settings,
  }));
  const cluster = createConcurrently(commands, {
    logger,
    outputStream: process.stdout,
    kill: endProcess,
    controllers: [new LogError({ logger }), new LogOutput({ logger })],
  });
  for (const command of cluster.commands) writeFileSync(pidFile(command.name.trim()), String(command.pid));
  let stopping = false;
  const stop = () => {
    if (stopping) return;
    stopping = true;
    const endAll = (signal: NodeJS.Signals) => {
      for (const command of cluster.commands) command.kill(signal);
    };
    endAll("SIGTERM");
    setTimeout(endAll, PATIENCE, "SIGKILL").unref();
  };
  for (const command of cluster.commands)
    command.close.subscribe(({ exitCode, command: { name } }) => {
      if (!stopping)
        logger.logGlobalEvent(`${name.trim()} ended by ${howEnded(exitCode)}, so everything is stopped`);
      stop();
    });
  // One that was stopped before it could listen to signals ends by the signal itself.
  const inOrder = (events: CloseEvent[]) =>
    events.every(({ exitCode }) => exitCode === 0 || exitCode === "SIGTERM");
  const ended = cluster.result.then(inOrder, inOrder).finally(() => {
    for (const name of Object.keys(PROCESSES)) rmSync(pidFile(name), { force: true });
  });
  return { stop, ended };
}

/** An argument that the processes do not read: it tells whose they are. */
const mark = (folder: string) => `--started-from=${folder}`;

const howEnded = (exitCode: number | string) =>
  typeof exitCode === "string" ? exitCode : `exit code ${exitCode}`;

/** One that has just ended by itself need not be ended any more. */
function endProcess(pid: number, signal?: string): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as { code?: string }).code !== "ESRCH") throw error;
  }
}

const quoted = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;
