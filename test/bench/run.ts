/** `npm run bench`: compares the hot paths with a hand-written baseline, on private servers. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processCommand } from "../../src/local/process-commands.ts";
import { startServers } from "../../src/local/servers.ts";
import { packageRoot } from "../../src/runtime/package-root.ts";
import type { BenchCase } from "./case.ts";
import { SEND } from "./cases/send.ts";
import { compare, formatMeasurement } from "./rounds.ts";

const CASES: readonly BenchCase[] = [SEND];
const PLAN = { connections: 64, rounds: 5, durationMs: 4_000 };
const say = (line: string) => void process.stdout.write(`${line}\n`);

type ServerUrls = Parameters<BenchCase["start"]>[0];

function migrate(servers: ServerUrls): void {
  const [program, ...args] = processCommand(packageRoot(), "migrate", "node");
  const keys = { ENCRYPTION_KEYS: `b:${Buffer.alloc(32).toString("base64")}`, JWT_SECRET: "b".repeat(32) };
  const { status } = spawnSync(program, args, { env: { ...servers, ...keys }, stdio: "inherit" });
  if (status !== 0) throw new Error("the migrations could not be applied");
}

/** True when the case is fast enough. */
async function runCase(benchCase: BenchCase, servers: ServerUrls): Promise<boolean> {
  say(`${benchCase.name}: ${PLAN.connections} concurrent connections`);
  const { stop, ...pair } = await benchCase.start(servers);
  try {
    const { ours, plain, ratio } = await compare(pair, { ...PLAN, say });
    const isFastEnough = ratio >= benchCase.minRatio && ours.p99 <= plain.p99;
    say(`  ${pair.ours.name}: ${formatMeasurement(ours)}; ${pair.plain.name}: ${formatMeasurement(plain)}`);
    say(
      `  ${isFastEnough ? "ok" : "TOO SLOW"}: ${ratio.toFixed(2)} times the baseline's rate, required ${benchCase.minRatio}`,
    );
    return isFastEnough;
  } finally {
    await stop();
  }
}

async function main(): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "herald-bench-"));
  chmodSync(folder, 0o711);
  // Durable as in production: commits that skip the disk would hide most of the cost.
  const { stop, ...servers } = await startServers({
    folder,
    env: { PATH: process.env.PATH },
    durable: true,
    say,
  });
  try {
    migrate(servers);
    const outcomes: boolean[] = [];
    for (const benchCase of CASES) outcomes.push(await runCase(benchCase, servers));
    return outcomes.every(Boolean);
  } finally {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exit((await main()) ? 0 : 1);
