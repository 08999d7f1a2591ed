/** `npm run bench`: compares the hot paths with a hand-written baseline, on private servers. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processCommand } from "../../src/local/process-commands.ts";
import { startServers } from "../../src/local/servers.ts";
import { packageRoot } from "../../src/runtime/package-root.ts";
import type { BenchCase, ServerUrls } from "./case.ts";
import { SEND } from "./cases/send.ts";
import { UPLOADS } from "./cases/uploads.ts";

const CASES: readonly BenchCase[] = [SEND, UPLOADS];
const say = (line: string) => void process.stdout.write(`${line}\n`);

function migrate(servers: ServerUrls): void {
  const [program, ...args] = processCommand(packageRoot(), "migrate", "node");
  const keys = { ENCRYPTION_KEYS: `b:${Buffer.alloc(32).toString("base64")}`, JWT_SECRET: "b".repeat(32) };
  const { status } = spawnSync(program, args, { env: { ...servers, ...keys }, stdio: "inherit" });
  if (status !== 0) throw new Error("the migrations could not be applied");
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
    // With arguments, only the cases whose names contain one of them.
    const words = process.argv.slice(2);
    for (const { name, run } of CASES) {
      if (words.length > 0 && !words.some((word) => name.includes(word))) continue;
      say(name);
      outcomes.push(await run(servers, say));
    }
    return outcomes.every(Boolean);
  } finally {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exit((await main()) ? 0 : 1);
