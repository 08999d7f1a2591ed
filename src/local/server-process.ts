import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { SECOND } from "../runtime/durations.ts";
import { isAddressInUse } from "../runtime/http/listen.ts";

/** A private server on loopback. */
export interface LocalServer {
  url: string;
  pid: number;
  /** Sends the stop signal and waits for the exit. */
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

/** Below the ports that systems give to outgoing connections, which would take a port before its server listens. */
const [FIRST_PORT, PORTS_PER_PROCESS, PORT_RANGES] = [12_000, 100, 200];
let portCount = 0;

/** The next port of a range that few other processes use, so that two of them hardly ever choose the same one. */
const nextPort = (): number =>
  FIRST_PORT + (process.pid % PORT_RANGES) * PORTS_PER_PROCESS + (portCount++ % PORTS_PER_PROCESS);

/** Returns the preferred port if it is free, otherwise any free port. Another process may still take it. */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && (await isPortFree(preferred))) return preferred;
  for (let tries = 0; tries < PORTS_PER_PROCESS; tries++) {
    const port = nextPort();
    if (await isPortFree(port)) return port;
  }
  return probePort(0);
}

/** True when the port is free on 127.0.0.1 and ::1: some programs resolve `localhost` to the latter. */
export const isPortFree = (port: number): Promise<boolean> =>
  probePort(port).then(
    () => isPortFreeOnIpv6(port),
    () => false,
  );

/** True as well when the machine has no IPv6. */
const isPortFreeOnIpv6 = (port: number): Promise<boolean> =>
  probePort(port, "::1").then(
    () => true,
    (error) => !isAddressInUse(error),
  );

/** Listens briefly on the port (0 for any free one) and returns it; rejects when it cannot listen. */
function probePort(requestedPort: number, host = "127.0.0.1"): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject);
    probe.listen(requestedPort, host, () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}

/**
 * Starts a server and waits until `isReady`. The server gets its own process group, so that Ctrl-C does not stop it
 * before the processes that use it.
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
  const readOutput = collectOutput(child);
  await waitUntilReady(child, isReady, readOutput);
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

const START_TIMEOUT_MS = 60 * SECOND;

async function waitUntilReady(
  child: ChildProcess,
  isReady: () => Promise<boolean>,
  readOutput: () => string,
): Promise<void> {
  let failure: Error | undefined;
  child.once("error", (error) => {
    failure = error;
  });
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!(await isReady())) {
    if (failure) throw failure;
    if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) {
      child.kill("SIGKILL");
      throw new Error(`${child.spawnfile} did not start:\n${readOutput()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Collects the end of the server's output for the error message when it does not start. */
function collectOutput(child: ChildProcess): () => string {
  let output = "";
  const append = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-4_000);
  };
  child.stdout?.on("data", append);
  child.stderr?.on("data", append);
  return () => output.trim();
}

/** Sends `request` to a local port; true when the first bytes of the response satisfy `isExpected`. */
export function isResponding(
  port: number,
  request: Buffer | string,
  isExpected: (answer: string) => boolean,
): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(request));
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1 * SECOND, () => settle(false));
    socket.once("error", () => settle(false));
    socket.once("close", () => settle(false));
    socket.once("data", (answer) => settle(isExpected(answer.toString("latin1"))));
  });
}
