import { execFile } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { Pool } from "undici";
import { acceptTerms } from "../../../src/domain/tenants/terms.ts";
import { packageRoot } from "../../../src/runtime/package-root.ts";
import { imageOfSize, MIB } from "../../fixtures/images/images.ts";
import { grantAdAccount } from "../../fixtures/tenants/ad-accounts.ts";
import type { BenchCase, ServerUrls } from "../case.ts";
import { type BenchClient, makeClient, startWeb, webSettings } from "../herald.ts";
import { type ListeningProcess, startListeningProcess } from "../processes.ts";

const CONNECTIONS = 8;
const DURATION_MS = 8_000;
const IMAGE_BYTES = 7 * MIB;
/** The p99 of a small request under uploads, as a multiple of its idle p99, and the memory of the process. */
const [MAX_SLOWDOWN, MAX_RSS_MB] = [3, 400];

interface UploadTarget {
  name: string;
  server: ListeningProcess;
  headers: Record<string, string>;
  /** A small request, and the upload. */
  small: string;
  upload: { path: string; body: Buffer };
}

/** Latencies of the small request in milliseconds, and uploads per second. */
interface Result {
  idle: { p50: number; p99: number };
  loaded: { p50: number; p99: number };
  uploadsPerSecond: number;
  rssMb: number;
}

const uploadServer = (mode: string, env: Record<string, string> = {}) =>
  startListeningProcess(
    [process.execPath, join(packageRoot(), "dist/test/bench/upload-server.js"), mode],
    env,
    /^(\d+)$/m,
  );

/** Accepts the terms and connects an active ad account; returns its id. */
async function makeAdAccount({ db, config, actor }: BenchClient): Promise<string> {
  await acceptTerms(db, actor, { id: "usr_bench", name: "Bench", email: null, role: "owner" });
  return (await grantAdAccount({ db, config }, { id: actor.clientId })).adAccountId;
}

const originOf = ({ port }: ListeningProcess) => `http://127.0.0.1:${port}`;

/** Starts Herald under both runtimes, and the baseline. */
async function startTargets(servers: ServerUrls) {
  const platform = await uploadServer("platform");
  const AD_PLATFORM_URL = originOf(platform);
  const settings = { ...webSettings(servers), AD_PLATFORM_URL };
  const { key, filled } = await makeClient(settings, ["marketing:manage"], makeAdAccount);
  const json = JSON.stringify({ ad_account_id: filled, bytes_base64: imageOfSize(IMAGE_BYTES) });
  const body = Buffer.from(json);
  const heraldAt = async (runtime: "node" | "deno"): Promise<UploadTarget> => ({
    name: `herald (${runtime})`,
    server: await startWeb(settings, runtime),
    headers: { "x-svc-api-key": key },
    small: "/api/auth/me",
    upload: { path: "/api/marketing/images", body },
  });
  const plain: UploadTarget = {
    name: "plain",
    server: await uploadServer("plain", { AD_PLATFORM_URL }),
    headers: { "content-type": "application/json" },
    small: "/me",
    upload: { path: "/images", body },
  };
  const targets = [await heraldAt("node"), await heraldAt("deno"), plain] as const;
  const stop = () => Promise.all([platform, ...targets.map(({ server }) => server)].map((one) => one.stop()));
  return { targets, stop };
}

/** Measures the small request while `work` runs. */
async function probeDuring<T>(target: UploadTarget, work: () => Promise<T>) {
  const url = originOf(target.server) + target.small;
  const thread = new Worker(new URL("../probe-thread.js", import.meta.url), {
    workerData: { url, headers: target.headers },
  });
  const result = await work();
  const latencies = once(thread, "message") as Promise<[number[]]>;
  thread.postMessage("stop");
  const [sorted] = await latencies;
  const percentile = (fraction: number) => sorted[Math.floor(sorted.length * fraction)] ?? Number.NaN;
  return { result, p50: percentile(0.5), p99: percentile(0.99) };
}

/** Uploads over all connections without pause; returns the count. A refusal is repeated. */
async function uploadContinuously({ server, upload, headers }: UploadTarget): Promise<number> {
  const pool = new Pool(originOf(server), { connections: CONNECTIONS, pipelining: 1 });
  const endsAt = performance.now() + DURATION_MS;
  let count = 0;
  const send = async () => {
    while (performance.now() < endsAt) {
      const { statusCode, body } = await pool.request({ method: "POST", ...upload, headers });
      const text = await body.text();
      if (statusCode !== 200 && statusCode !== 503) throw new Error(`an upload got ${statusCode}: ${text}`);
      if (statusCode === 200) count += 1;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, send));
  await pool.close();
  return count;
}

const SAMPLE_INTERVAL_MS = 250;

/** Returns the largest resident memory while `work` runs, in megabytes. */
async function maxRssDuring<T>(
  { server }: UploadTarget,
  work: Promise<T>,
): Promise<{ value: T; mb: number }> {
  let [maxKb, isOver] = [0, false];
  const sampling = (async () => {
    while (!isOver) {
      const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", String(server.pid)]);
      maxKb = Math.max(maxKb, Number(stdout));
      await sleep(SAMPLE_INTERVAL_MS);
    }
  })();
  const value = await work.finally(() => (isOver = true));
  await sampling;
  return { value, mb: Math.round(maxKb / 1_024) };
}

async function measure(target: UploadTarget): Promise<Result> {
  await uploadContinuously(target); // the first uploads start the threads
  const idle = await probeDuring(target, () => sleep(DURATION_MS));
  const loaded = await probeDuring(target, () => maxRssDuring(target, uploadContinuously(target)));
  const { value: uploads, mb: rssMb } = loaded.result;
  return { idle, loaded, uploadsPerSecond: uploads / (DURATION_MS / 1_000), rssMb };
}

const format = ({ idle, loaded, uploadsPerSecond, rssMb }: Result) =>
  `small GET p99 ${idle.p99.toFixed(1)} ms idle, ${loaded.p99.toFixed(1)} ms under uploads (p50 ${loaded.p50.toFixed(1)}); ${uploadsPerSecond.toFixed(1)} uploads/s, RSS ${rssMb} MB`;

/** Compares the latency of a small request beside uploads with a server that decodes them on its event loop. */
export const UPLOADS: BenchCase = {
  name: `POST /api/marketing/images: ${CONNECTIONS} connections upload ${IMAGE_BYTES / MIB} MiB images`,
  async run(servers, say) {
    const { targets, stop } = await startTargets(servers);
    try {
      const results: Result[] = [];
      for (const target of targets) {
        const result = await measure(target);
        say(`  ${target.name}: ${format(result)}`);
        results.push(result);
      }
      const [ours] = results as [Result, Result, Result];
      const slowdown = ours.loaded.p99 / ours.idle.p99;
      const isReached = slowdown <= MAX_SLOWDOWN && ours.rssMb < MAX_RSS_MB;
      say(
        `  ${isReached ? "ok" : "NOT REACHED"}: ${slowdown.toFixed(1)} times the idle p99, required ${MAX_SLOWDOWN}; ${ours.rssMb} MB, required ${MAX_RSS_MB}`,
      );
      return isReached;
    } finally {
      await stop();
    }
  },
};
