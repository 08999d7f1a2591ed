import { existsSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { type ApiAccess, type BaseContext, CommandError } from "../commands/command-line/command.ts";
import { createProgress } from "../commands/command-line/output.ts";
import { readEnvFile } from "../local/settings.ts";
import type { Environment } from "../runtime/config/settings.ts";
import { withoutTrailing } from "../runtime/http/addresses.ts";
import { packageRoot } from "../runtime/package-root.ts";

/** Creates the context that every command has. herald-services.ts adds what only commands of an operator need. */
export function openCommandContext(
  environment: Environment,
  folder = join(packageRoot(), ".herald"),
): BaseContext {
  const file = join(folder, "env");
  return {
    ...withStoredSettings(environment, file),
    apiAccess: () => findApiAccess(environment, file),
    sandboxUrl() {
      const url = environment.SANDBOX_URL || readEnvFile(file).SANDBOX_URL;
      if (!url) throw new CommandError("there is no sandbox: run npm start, or set SANDBOX_URL");
      return url;
    },
    say: (line) => void process.stderr.write(`${line}\n`),
    readLine: readFirstLine,
    readAll: () => text(process.stdin),
    onInterrupt,
    interruptSignal,
    onKeyPress,
    hasColours: process.stdout.isTTY === true && !environment.NO_COLOR,
    isInteractive: process.stdin.isTTY === true && process.stderr.isTTY === true,
    progress: (label, total) => createProgress(process.stderr, label, total),
  };
}

/** The environment; while it has no DATABASE_URL, completed by the settings that `npm start` stored. */
function withStoredSettings(env: Environment, file: string) {
  if (env.DATABASE_URL || !existsSync(file)) return { env, settingsFile: null };
  const given = Object.entries(env).filter(([, value]) => value !== undefined && value !== "");
  return { env: { ...readEnvFile(file), ...Object.fromEntries(given) }, settingsFile: file };
}

/** Address and key come from the same place: a key must not be sent to a service that it does not belong to. */
function findApiAccess(env: Environment, file: string): ApiAccess {
  const isGiven = Boolean(env.HERALD_URL || env.HERALD_API_KEY);
  const { HERALD_URL: url = "", HERALD_API_KEY: key = "" } = isGiven ? env : readEnvFile(file);
  if (!url || !key)
    throw new CommandError(
      isGiven
        ? `${url ? "HERALD_API_KEY" : "HERALD_URL"} is not set: both or neither must be`
        : "HERALD_URL and HERALD_API_KEY are not set, and npm start has not written them here",
    );
  if (!isServiceAddress(url))
    throw new CommandError(
      "HERALD_URL must be the address of the service, such as https://herald.example.com",
    );
  return { url: withoutTrailing(url, "/"), key };
}

/** Without a user name or password, because the address is printed. */
function isServiceAddress(text: string): boolean {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return false;
  const { username, password, search, hash } = new URL(text);
  return username + password + search + hash === "";
}

async function readFirstLine(): Promise<string> {
  const lines = createInterface({ input: process.stdin });
  try {
    for await (const line of lines) return line;
    return "";
  } finally {
    lines.close();
  }
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Runs the cleanup before one of these signals ends the process. Returns a function that stops listening. */
function onInterrupt(cleanUp: () => void): () => void {
  const end = (signal: NodeJS.Signals) => {
    cleanUp();
    process.exit(128 + constants.signals[signal]); // the exit code of a shell for a program ended by a signal
  };
  for (const signal of SIGNALS) process.once(signal, end);
  return () => {
    for (const signal of SIGNALS) process.off(signal, end);
  };
}

/** A reader of standard output that has gone is an interrupt too. A second signal ends the process. */
function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  const abort = () => controller.abort();
  for (const signal of SIGNALS) process.once(signal, abort);
  process.stdout.once("error", abort);
  return controller.signal;
}

const CTRL_C = "\u0003";

/** Ctrl-C is no signal while single keys are read, so it is made one here. */
function onKeyPress(callback: (key: string) => void): (() => void) | undefined {
  const { stdin } = process;
  if (!stdin.isTTY) return undefined;
  const receive = (chunk: Buffer) => {
    for (const key of chunk.toString("utf8"))
      if (key === CTRL_C) process.kill(process.pid, "SIGINT");
      else callback(key);
  };
  stdin.setRawMode(true).resume().on("data", receive);
  return () => {
    stdin.setRawMode(false).pause().off("data", receive);
  };
}
