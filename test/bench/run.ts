/** How fast the hot paths are beside what anybody would write by hand, on servers of its own: `npm run bench`. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processCommand } from "../../src/local/process-commands.ts";
import { startServers } from "../../src/local/servers.ts";
import { packageRoot } from "../../src/runtime/package-root.ts";
import type { Case } from "./case.ts";
import { SEND } from "./cases/send.ts";
import { compare, told } from "./rounds.ts";

const CASES: readonly Case[] = [SEND];
const PLAN = { connections: 64, rounds: 5, milliseconds: 4_000 };
const say = (line: string) => void process.stdout.write(`${line}\n`);

type Addresses = Parameters<Case["start"]>[0];

function migrate(servers: Addresses): void {
  const [program, ...args] = processCommand(packageRoot(), "migrate", "node");
  const keys = { ENCRYPTION_KEYS: `b:${Buffer.alloc(32).toString("base64")}`, JWT_SECRET: "b".repeat(32) };
  const { status } = spawnSync(program, args, { env: { ...servers, ...keys }, stdio: "inherit" });
  if (status !== 0) throw new Error("the migrations could not be applied");
}

/** Whether it is as fast as it must be. */
async function run(one: Case, servers: Addresses): Promise<boolean> {
  say(`${one.name}: ${PLAN.connections} callers at once`);
  const { stop, ...pair } = await one.start(servers);
  try {
    const { ours, plain, ratio } = await compare(pair, { ...PLAN, say });
    const isGood = ratio >= one.least && ours.p99 <= plain.p99;
    say(`  ${pair.ours.name}: ${told(ours)}; ${pair.plain.name}: ${told(plain)}`);
    say(`  ${isGood ? "ok" : "TOO SLOW"}: ${ratio.toFixed(2)} times as many, ${one.least} at least`);
    return isGood;
  } finally {
    await stop();
  }
}

async function main(): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "herald-bench-"));
  chmodSync(folder, 0o711);
  // As durable as in production: a commit that does not reach the disk costs nothing.
  const { stop, ...servers } = await startServers({
    folder,
    env: { PATH: process.env.PATH },
    durable: true,
    say,
  });
  try {
    migrate(servers);
    const outcomes: boolean[] = [];
    for (const one of CASES) outcomes.push(await run(one, servers));
    return outcomes.every(Boolean);
  } finally {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exit((await main()) ? 0 : 1);
