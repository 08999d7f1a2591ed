import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";

/** A process of the bench, and the port that it listens on, read from what it prints. */
export interface Listening {
  port: number;
  stop(): Promise<void>;
}

export async function startListening(
  [program, ...args]: readonly [string, ...string[]],
  env: Record<string, string>,
  port: RegExp,
): Promise<Listening> {
  const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  return { port: await portIn(child, port), stop: () => stopped(child) };
}

async function portIn(child: ChildProcess & { stdout: Readable }, form: RegExp): Promise<number> {
  let said = "";
  const found = new Promise<number>((resolve) => {
    child.stdout.on("data", (chunk) => {
      said = `${said}${chunk}`.slice(-4_096);
      const [, port] = form.exec(said) ?? [];
      if (!port) return;
      // What it says from now on is read and dropped: looking at it would take time from what is measured.
      child.stdout.removeAllListeners("data").resume();
      resolve(Number(port));
    });
  });
  const ended = once(child, "exit").then(() => {
    throw new Error(`it ended before it listened:\n${said}`);
  });
  return Promise.race([found, ended]);
}

async function stopped(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  await exited;
}
