import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { processCommand } from "../../../src/local/cluster.ts";
import { withTimeout } from "../../../src/runtime/async/timeouts-and-retries.ts";
import { packageRoot } from "../../../src/runtime/package-root.ts";
import type { BenchContext, BenchProcess } from "./context.ts";

/** Stopping takes longer only if the process hangs. */
const STOP_TIMEOUT_MS = 40_000;

/** Starts a process of bin/ and waits until its log contains the pattern. */
export const startHerald = (
  context: BenchContext,
  name: "web" | "dispatcher" | "scheduler",
  ready: RegExp,
  settings: Record<string, string> = {},
): Promise<BenchProcess> =>
  startProcess(context, processCommand(packageRoot(), name, "node"), ready, {
    ...context.settings,
    ...settings,
  });

export type WebProcess = Awaited<ReturnType<typeof startWeb>>;

/** Starts web; returns its process and origin. */
export async function startWeb(context: BenchContext, settings: Record<string, string> = {}) {
  const web = await startHerald(context, "web", /http\.listening.*port=(\d+)/, settings);
  return { ...web, origin: `http://127.0.0.1:${web.ready[1]}` };
}

/** Starts a program of test/bench/, which prints its port, with the settings of production. */
export async function startProgram(context: BenchContext, file: string, env: Record<string, string> = {}) {
  const command = [process.execPath, join(packageRoot(), "dist/test/bench", `${file}.js`)] as const;
  const { DATABASE_URL = "", REDIS_URL = "" } = context.settings;
  const program = await startProcess(context, command, /^(\d+)$/m, {
    NODE_ENV: "production",
    DATABASE_URL,
    REDIS_URL,
    ...env,
  });
  return { ...program, origin: `http://127.0.0.1:${program.ready[1]}` };
}

type Command = readonly [string, ...string[]];

async function startProcess(
  context: BenchContext,
  [program, ...args]: Command,
  ready: RegExp,
  env: Record<string, string>,
): Promise<BenchProcess> {
  const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  const name = args.join(" ");
  let isStopping = false;
  const exited = once(child, "exit");
  exited.then(([code, signal]) => {
    if (!isStopping) context.fail(new Error(`${name} ended with ${code ?? signal}`));
  });
  const stop = async () => {
    isStopping = true;
    child.kill("SIGTERM");
    child.kill("SIGCONT"); // a suspended process would not end
    await withTimeout(STOP_TIMEOUT_MS, exited, () => child.kill("SIGKILL"));
  };
  context.teardown(stop);
  return { pid: child.pid as number, ready: await waitForOutput(child, ready, name), stop };
}

/** Later output is discarded unread, so that reading it does not distort the measurement. */
function waitForOutput(child: ChildProcess, pattern: RegExp, name: string): Promise<RegExpExecArray> {
  const stdout = child.stdout as Readable;
  let output = "";
  return new Promise((resolve, reject) => {
    child.once("exit", () => reject(new Error(`${name} ended before it was ready:\n${output}`)));
    stdout.on("data", (chunk) => {
      output = `${output}${chunk}`.slice(-4_096);
      const found = pattern.exec(output);
      if (!found) return;
      stdout.removeAllListeners("data").resume();
      resolve(found);
    });
  });
}
