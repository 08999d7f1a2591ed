import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { readConfig } from "../runtime/config/config.ts";
import type { Environment } from "../runtime/config/settings.ts";
import { packageRoot } from "../runtime/package-root.ts";
import { processCommand, type Runtime, startCluster, stopLeftoverCluster } from "./cluster.ts";
import { runningPid } from "./leftover-processes.ts";
import { startServers } from "./servers.ts";
import {
  localSettings,
  privateServersSetting,
  readEnvFile,
  sandboxUrl,
  withoutPrivateServers,
  writeEnvFile,
} from "./settings.ts";

interface StartOptions {
  env: Environment;
  runtime: Runtime;
  /** Holds the data and the settings; `.herald` in the checkout by default. */
  folder?: string | undefined;
  say(line: string): void;
  /** Aborted by Ctrl-C. */
  stop: AbortSignal;
}

type StartContext = Omit<StartOptions, "folder"> & { root: string; folder: string };

/** Runs the whole service on this machine until it is stopped, and returns the exit code. */
export async function startLocally({ folder, ...options }: StartOptions): Promise<number> {
  if (options.env.NODE_ENV === "production")
    throw new Error("npm start is for development: in production run the processes of the Procfile");
  const root = packageRoot();
  const context = { ...options, root, folder: resolve(folder ?? join(root, ".herald")) };
  const release = claimFolder(context.folder);
  try {
    return await runServersAndCluster(context);
  } catch (error) {
    if (options.stop.aborted) return 0; // interrupted by Ctrl-C: not a failure
    throw error;
  } finally {
    release();
  }
}

/** Allows one start per folder: two would share a data directory. */
function claimFolder(folder: string): () => void {
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  const pidFile = join(folder, "start.pid");
  const other = runningPid({ pidFile, marker: "bin/start.js" });
  if (other !== undefined) {
    const { PUBLIC_URL = "" } = readEnvFile(envFileIn(folder));
    const where = `${PUBLIC_URL}; its API key and login are in ${envFileIn(folder)}`;
    throw new Error(`Herald already runs from this folder (process ${other}) at ${where}`);
  }
  writeFileSync(pidFile, String(process.pid));
  return () => rmSync(pidFile, { force: true });
}

async function runServersAndCluster(context: StartContext): Promise<number> {
  const { folder, say, stop } = context;
  const envFile = envFileIn(folder);
  const stored = readEnvFile(envFile);
  const env = withoutPrivateServers(context.env, stored);
  await stopLeftoverCluster(folder); // frees the ports before they are checked
  const servers = await startServers({ folder, env, durable: true, say });
  try {
    const generated = { ...(await localSettings(env, stored, servers)), ...privateServersSetting(env) };
    const settings = { ...definedOnly(env), ...generated, ...terminalSettings(env) };
    readConfig(settings); // throws before the file is written: wrong settings in it would break every later start
    backUpFormerKeys({ envFile, stored, generated, say });
    writeEnvFile(envFile, { ...stored, ...generated });
    say("Applying migrations and preparing the demo client ...");
    const demo = await prepareDemo(context, { ...stored, ...settings });
    writeEnvFile(envFile, { ...generated, ...demo, ...apiAccess(generated, demo) });
    if (stop.aborted) return 0;
    say("Starting the processes ...");
    const cluster = startCluster({ ...context, settings, demoApiKey: demo.DEMO_API_KEY });
    stop.addEventListener("abort", cluster.stop);
    if (stop.aborted) cluster.stop();
    const sandbox = sandboxUrl(generated.SANDBOX_PORT as string);
    if (await waitUntilReady([`${localAddress(generated)}/readyz`, `${sandbox}/_sandbox`], cluster.ended))
      say(startupBanner({ address: generated.PUBLIC_URL as string, sandbox, envFile, demo }));
    const exitedCleanly = await cluster.ended;
    say("Herald has stopped.");
    return exitedCleanly ? 0 : 1;
  } finally {
    await servers.stop();
  }
}

const envFileIn = (folder: string) => join(folder, "env");

/** Keeps the former keys: data encrypted with them cannot be read otherwise. */
function backUpFormerKeys({ envFile, stored, generated, say }: KeyChange): void {
  if (!stored.ENCRYPTION_KEYS || stored.ENCRYPTION_KEYS === generated.ENCRYPTION_KEYS) return;
  copyFileSync(envFile, `${envFile}.before`);
  say(`ENCRYPTION_KEYS has changed: the former settings are kept in ${envFile}.before`);
}

interface KeyChange extends Pick<StartContext, "say"> {
  envFile: string;
  stored: Record<string, string>;
  generated: Record<string, string>;
}

const definedOnly = (env: Environment): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );

/** Selects the pretty format: the processes write to a pipe and cannot see that it ends in a terminal. */
function terminalSettings(env: Environment): Record<string, string> {
  return process.stdout.isTTY && !env.LOG_FORMAT ? { LOG_FORMAT: "pretty", FORCE_COLOR: "1" } : {};
}

/** Applies migrations and creates the demo client through the command line: src/local has no database client. */
async function prepareDemo(
  { root, runtime }: StartContext,
  settings: Record<string, string>,
): Promise<DemoSettings> {
  const [program, ...args] = processCommand(root, "herald", runtime);
  const child = spawn(program, [...args, "demo", "--json"], {
    env: settings,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error("the database could not be prepared; npx herald doctor finds the reason");
  const { client_id, email, password, api_key, chat_channel_id, ...webhook } = JSON.parse(output);
  return {
    DEMO_CLIENT_ID: client_id,
    DEMO_EMAIL: email,
    DEMO_PASSWORD: password,
    DEMO_API_KEY: api_key,
    DEMO_CHAT_CHANNEL_ID: chat_channel_id ?? "",
    DEMO_WEBHOOK_URL: webhook.webhook_url ?? "",
    DEMO_WEBHOOK_SECRET: webhook.webhook_secret ?? "",
  };
}

/** Address and key for commands that call the API as the demo client. */
const apiAccess = (generated: Record<string, string>, { DEMO_API_KEY }: DemoSettings) => ({
  HERALD_URL: localAddress(generated),
  HERALD_API_KEY: DEMO_API_KEY,
});

/** Address of web as seen from this machine. */
function localAddress({ HOST = "", PORT = "" }: Record<string, string>): string {
  const host = HOST === "0.0.0.0" || HOST === "::" ? "127.0.0.1" : HOST;
  return `http://${host.includes(":") ? `[${host}]` : host}:${PORT}`;
}

/** Returns true once all addresses answer, false when the processes end first. */
async function waitUntilReady(addresses: readonly string[], ended: Promise<unknown>): Promise<boolean> {
  let hasEnded = false;
  ended.then(() => {
    hasEnded = true;
  });
  for (const address of addresses)
    while (!hasEnded && !(await isReachable(address)))
      await new Promise((resolve) => setTimeout(resolve, 100));
  return !hasEnded;
}

const isReachable = (address: string): Promise<boolean> =>
  fetch(address).then(
    (response) => response.ok,
    () => false,
  );

/** The demo client as it is stored in the settings file of a local cluster; empty where it has no such thing. */
type DemoSettings = Record<
  | "DEMO_CLIENT_ID"
  | "DEMO_EMAIL"
  | "DEMO_PASSWORD"
  | "DEMO_API_KEY"
  | "DEMO_CHAT_CHANNEL_ID"
  | "DEMO_WEBHOOK_URL"
  | "DEMO_WEBHOOK_SECRET",
  string
>;

interface BannerParts {
  address: string;
  sandbox: string;
  envFile: string;
  demo: DemoSettings;
}

/** The screen shown once everything runs: addresses, credentials and three commands to paste. */
function startupBanner({ address, sandbox, envFile, demo }: BannerParts): string {
  const key = `-H 'x-svc-api-key: ${demo.DEMO_API_KEY}'`;
  return `
  Herald is up.

    console    ${address}/console
    login      ${demo.DEMO_EMAIL}  ${demo.DEMO_PASSWORD}
    address    ${address}
    docs       ${address}/api/docs
    guides     ${address}/docs/
    sandbox    ${sandbox}/_sandbox  (simulated platforms)
    signup     ${sandbox}/_sandbox/signup  (demo of the embedded signup)
    API key    ${demo.DEMO_API_KEY}
    webhooks   ${demo.DEMO_WEBHOOK_URL}
    settings   ${envFile}

  Send a message, receive one, and list the webhooks that the sandbox's inbox received:

curl -sw '\\n' ${address}/api/outbound/send ${key} -d '{"channel_id": "${demo.DEMO_CHAT_CHANNEL_ID}", "to": "5511988887777", "type": "text", "text": {"body": "Hello"}}'
curl -sw '\\n' ${sandbox}/_sandbox/inbound -d '{"channel": "1400000000000301", "from": "5511988887777", "type": "text", "content": {"body": "Hi"}}'
curl -sw '\\n' ${sandbox}/_sandbox/inbox

  In another terminal: npx herald --help. The guides in docs/ take address and key from the settings file.
  Ctrl-C stops everything; the data is kept for the next start.
`;
}
