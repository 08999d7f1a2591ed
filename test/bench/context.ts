import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import { Redis } from "ioredis";
import { processCommand } from "../../src/local/cluster.ts";
import { withTimeout } from "../../src/runtime/async/timeouts-and-retries.ts";
import { type Config, readConfig } from "../../src/runtime/config/config.ts";
import { packageRoot } from "../../src/runtime/package-root.ts";
import { createDatabase, type Database } from "../../src/store/database/database.ts";
import { allocateRedisDatabase, cloneDatabase } from "../fixtures/servers/servers.ts";
import type { ProcessIds } from "./usage.ts";

/** The condition in which Herald runs. Without any, its database is empty and it has one dispatcher. */
export interface Condition {
  /** The days of events and messages that are stored. */
  history?: "30-days" | "1-day";
  /** Messages that wait for a platform that refuses connections. */
  waitingSends?: number;
  dispatchers?: number;
}

/** The peers: their programs in peers/, and what each is told. */
const PEERS = {
  express: { file: "express", env: {} },
  "express-multi-row": { file: "express", env: { MULTI_ROW: "true" } },
  fastify: { file: "fastify", env: {} },
  bullmq: { file: "bullmq", env: {} },
  graphile: { file: "graphile", env: {} },
} as const;

export type PeerName = keyof typeof PEERS;

export const isPeerName = (name: string): name is PeerName => Object.hasOwn(PEERS, name);

/** A running process of a contestant. When it dies before the end, the run fails. */
export interface BenchProcess {
  pid: number;
  /** Its address, if it printed a port. */
  origin: string;
  /** Stops and continues the process with signals, which all contestants obey alike. */
  suspend(): void;
  resume(): void;
}

/** What one contestant has for itself: a database, a Redis database and its processes. */
export interface BenchContext {
  /** Settings of Herald's processes, with DATABASE_URL and REDIS_URL. Peers get these two. */
  settings: Record<string, string>;
  config: Config;
  /** For preparation and verification. */
  db: Database;
  condition: Condition;
  /** The processes of Postgres and Redis, which all contestants use. */
  servers: ProcessIds;
  /** Returns the number of a full run multiplied by the scale, at least `least`. */
  count(full: number, least?: number): number;
  processes: BenchProcess[];
  /** Registers work for the end; runs in reverse order. */
  teardown(work: () => unknown): void;
  /** Fails the running round, for example when a process dies. */
  fail(error: Error): void;
}

interface OpenContext {
  context: BenchContext;
  /** Rejects when the context fails. */
  failed: Promise<never>;
  close(): Promise<void>;
}

interface ContextOptions {
  scale: number;
  condition: Condition;
  /** The database that is cloned. */
  template: string;
  say(line: string): void;
}

/** Does all of the work, in this order: after a failure, the rest would stay, and hide the error of the run. */
export async function closeAll(
  works: readonly (() => unknown)[],
  say: (line: string) => void,
): Promise<void> {
  for (const work of works) {
    try {
      await work();
    } catch (error) {
      say(`Not closed: ${error instanceof Error ? error.message : error}`);
    }
  }
}

export async function openContext({ scale, condition, template, say }: ContextOptions): Promise<OpenContext> {
  const teardowns: (() => unknown)[] = [];
  const teardown = (work: () => unknown) => void teardowns.push(work);
  let fail = (_: Error) => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {}); // a process may die between two rounds
  const redisUrl = await allocateRedisDatabase();
  teardown(() => withRedis(redisUrl, (redis) => redis.flushdb()));
  const settings = heraldSettings(await cloneDatabase({ teardown }, template), redisUrl);
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  teardown(() => db.close());
  const servers = await readServerProcesses(db, redisUrl);
  const count = (full: number, least = 1) => Math.max(Math.ceil(full * scale), least);
  const context = { settings, config, db, condition, servers, count, processes: [], teardown, fail };
  const close = () => closeAll(teardowns.reverse(), say);
  return { context, failed, close };
}

/** Settings without limits on the load, and with the log of production. */
export const heraldSettings = (DATABASE_URL: string, REDIS_URL: string): Record<string, string> => ({
  DATABASE_URL,
  REDIS_URL,
  ENCRYPTION_KEYS: `bench:${randomBytes(32).toString("base64")}`,
  JWT_SECRET: randomBytes(32).toString("hex"),
  RATE_LIMIT_PER_MINUTE: "0",
  MAX_CONNECTIONS_PER_ADDRESS: "0",
  PRIVATE_DESTINATIONS: "127.0.0.0/8",
  HOST: "127.0.0.1",
  PORT: "0",
  LOG_FORMAT: "logfmt",
  LOG_LEVEL: "info",
});

async function withRedis<T>(url: string, use: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url);
  return use(redis).finally(() => redis.quit());
}

async function readServerProcesses(db: Database, redisUrl: string): Promise<ProcessIds> {
  const [row] = await db.query<{ text: string }>("select pg_read_file('postmaster.pid') as text");
  const info = await withRedis(redisUrl, (redis) => redis.info("server"));
  return {
    postgres: Number.parseInt(row?.text ?? "", 10),
    redis: Number(/process_id:(\d+)/.exec(info)?.[1]),
  };
}

/** Starts a process of bin/ and waits until it is ready. */
export function startHerald(
  context: BenchContext,
  name: "web" | "dispatcher" | "scheduler",
  settings: Record<string, string> = {},
): Promise<BenchProcess> {
  const ready = name === "web" ? /http\.listening.*port=(\d+)/ : /process\.ready/;
  const command = processCommand(packageRoot(), name, "node");
  return startProcess(context, { command, ready, env: { ...context.settings, ...settings } });
}

const peerFile = (name: PeerName) => join(packageRoot(), "test/bench/peers", `${PEERS[name].file}.js`);

/** Starts a peer's program with the settings of production. It prints its port, or 0, when it is ready. */
export function startPeer(context: BenchContext, name: PeerName, env: Record<string, string> = {}) {
  return startProgram(context, [peerFile(name)], { ...PEERS[name].env, ...env });
}

/** Loads the part of a peer that adds jobs to its queue; its worker runs as a separate process. */
export const importPeer = async <T>(name: PeerName): Promise<T> => import(pathToFileURL(peerFile(name)).href);

const PRINTED_PORT = /^(\d+)$/m;

function startProgram(context: BenchContext, [file, ...args]: [string, ...string[]], env = {}) {
  const { DATABASE_URL, REDIS_URL } = context.settings;
  return startProcess(context, {
    command: [process.execPath, file, ...args],
    ready: PRINTED_PORT,
    env: { NODE_ENV: "production", DATABASE_URL, REDIS_URL, ...env } as Record<string, string>,
  });
}

interface ProcessOptions {
  command: [string, ...string[]];
  /** A pattern of its output; its group is the port. */
  ready: RegExp;
  env: Record<string, string>;
}

/** Stopping takes longer only if the process hangs. */
const STOP_TIMEOUT_MS = 40_000;

async function startProcess(
  context: BenchContext,
  { command: [program, ...args], ready, env }: ProcessOptions,
): Promise<BenchProcess> {
  const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  const name = args.join(" ");
  let isStopping = false;
  const exited = once(child, "exit");
  exited.then(([code, signal]) => {
    if (!isStopping) context.fail(new Error(`${name} ended with ${code ?? signal}`));
  });
  context.teardown(async () => {
    isStopping = true;
    child.kill("SIGTERM");
    child.kill("SIGCONT"); // a suspended process would not end
    await withTimeout(STOP_TIMEOUT_MS, exited, () => child.kill("SIGKILL"));
  });
  const [, port] = await waitForOutput(child, ready, name);
  const started = {
    pid: child.pid as number,
    origin: `http://127.0.0.1:${port}`,
    suspend: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
  };
  context.processes.push(started);
  return started;
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

/** Times of the requests by what they are about: event ids or phone number ids. */
export type ArrivalTimes = readonly (readonly [key: string, times: readonly number[]])[];

/** A process that answers the requests of a contestant and records their times. */
export interface Receiver {
  origin: string;
  reset(): Promise<void>;
  /** Ends the requests that it has not answered. */
  release(): Promise<void>;
  /** Resolves when this many requests have arrived since the reset. */
  waitFor(count: number): Promise<void>;
  arrivals(): Promise<ArrivalTimes>;
}

/** A round that takes longer has lost requests, which fails the run. */
const MAX_WAIT_MS = 120_000;

/** Starts the backend of all clients, or a chat platform. */
export async function startReceiver(context: BenchContext, role: "backend" | "platform"): Promise<Receiver> {
  const file = join(packageRoot(), "dist/test/bench/receiver-program.js");
  const { origin } = await startProgram(context, [file, role]);
  const call = async (command: string): Promise<unknown> =>
    (await fetch(`${origin}/control/${command}`, { signal: AbortSignal.timeout(MAX_WAIT_MS) })).json();
  return {
    origin,
    reset: () => call("reset") as Promise<void>,
    release: () => call("release") as Promise<void>,
    async waitFor(count) {
      await call(`wait/${count}`).catch((error) => {
        throw new Error(`fewer than ${count} requests have arrived at the ${role}`, { cause: error });
      });
    },
    arrivals: () => call("arrivals") as Promise<ArrivalTimes>,
  };
}
