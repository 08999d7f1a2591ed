import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";

/** A process of the benchmark and its port, which is read from its output. */
export interface ListeningProcess {
  pid: number;
  port: number;
  stop(): Promise<void>;
}

export async function startListeningProcess(
  [program, ...args]: readonly [string, ...string[]],
  env: Record<string, string>,
  portPattern: RegExp,
): Promise<ListeningProcess> {
  const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  const port = await readPort(child, portPattern);
  return { pid: child.pid as number, port, stop: () => stopProcess(child) };
}

async function readPort(child: ChildProcess & { stdout: Readable }, portPattern: RegExp): Promise<number> {
  let output = "";
  const found = new Promise<number>((resolve) => {
    child.stdout.on("data", (chunk) => {
      output = `${output}${chunk}`.slice(-4_096);
      const [, port] = portPattern.exec(output) ?? [];
      if (!port) return;
      // Discards further output unparsed, so that parsing does not distort the measurement.
      child.stdout.removeAllListeners("data").resume();
      resolve(Number(port));
    });
  });
  const ended = once(child, "exit").then(() => {
    throw new Error(`the process exited before it listened:\n${output}`);
  });
  return Promise.race([found, ended]);
}

async function stopProcess(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  await exited;
}
