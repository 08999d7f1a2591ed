import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { SECOND } from "../runtime/durations.ts";
import { isAddressInUse } from "../runtime/listen.ts";

/** A server of our own on loopback. */
export interface LocalServer {
  url: string;
  pid: number;
  /** Asks it to end in its own way, and waits until it has. */
  stop(): Promise<void>;
}

export interface Account {
  uid: number;
  gid: number;
}

interface ServerCommand {
  program: string;
  args: readonly string[];
  folder: string;
  account: Account | undefined;
  stopSignal: NodeJS.Signals;
}

/** A port that was free a moment ago. */
export const freePort = async (preferred?: number): Promise<number> =>
  preferred !== undefined && (await isFree(preferred)) ? preferred : probed(0);

/** Whether the port can be had, and nobody has it by the other name of this machine: some take `localhost` for that one. */
export const isFree = (port: number): Promise<boolean> =>
  probed(port).then(
    () => isFreeBeside(port),
    () => false,
  );

/** Without IPv6 nobody can be there. */
const isFreeBeside = (port: number): Promise<boolean> =>
  probed(port, "::1").then(
    () => true,
    (error) => !isAddressInUse(error),
  );

/** Listens there for a moment, and answers where; 0 is any free port. */
function probed(wanted: number, host = "127.0.0.1"): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject);
    probe.listen(wanted, host, () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}

/**
 * Starts a server and waits until `isReady`. It gets a process group of its own: Ctrl-C in the terminal must reach the
 * processes that use the server first.
 */
export async function startServer(
  command: ServerCommand,
  isReady: () => Promise<boolean>,
): Promise<Omit<LocalServer, "url">> {
  const child = spawn(command.program, command.args, {
    cwd: command.folder,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    ...(command.account ?? {}),
  });
  const said = collectOutput(child);
  await untilReady(child, isReady, said);
  return {
    pid: child.pid as number,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      child.kill(command.stopSignal);
      await ended;
    },
  };
}

const PATIENCE = 60 * SECOND;

async function untilReady(
  child: ChildProcess,
  isReady: () => Promise<boolean>,
  said: () => string,
): Promise<void> {
  let failure: Error | undefined;
  child.once("error", (error) => {
    failure = error;
  });
  const deadline = Date.now() + PATIENCE;
  while (!(await isReady())) {
    if (failure) throw failure;
    if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) {
      child.kill("SIGKILL");
      throw new Error(`${child.spawnfile} did not start:\n${said()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The last lines a server said, for the message when it does not start. */
function collectOutput(child: ChildProcess): () => string {
  let output = "";
  const keep = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-4_000);
  };
  child.stdout?.on("data", keep);
  child.stderr?.on("data", keep);
  return () => output.trim();
}

/** Sends `hello` to a local port and answers whether anything comes back that `isWelcome`. */
export function greets(
  port: number,
  hello: Buffer | string,
  isWelcome: (answer: string) => boolean,
): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(hello));
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1 * SECOND, () => settle(false));
    socket.once("error", () => settle(false));
    socket.once("close", () => settle(false));
    socket.once("data", (answer) => settle(isWelcome(answer.toString("latin1"))));
  });
}
