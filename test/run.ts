/**
 * `npm test`: runs every check of the project on private servers; `npm test -- test/http/lists.test.ts` runs single files,
 * `npm test -- --redis=valkey-server ...` with another server as Redis.
 */
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ensurePrograms, type Program, REDIS } from "../src/local/programs.ts";
import { runChecks } from "./driver/checks.ts";
import { type Outcome, say, saySlowest, saySummary } from "./driver/outcomes.ts";
import { withTestServers } from "./driver/servers.ts";
import { runFiles, testFiles } from "./driver/test-files.ts";
import { ensureValkey } from "./driver/valkey.ts";
import { processorSeconds, stolenSeconds } from "./fixtures/processes/processor-time.ts";
import { REDIS_PROGRAMS, TEST_PROGRAMS, VALKEY } from "./fixtures/servers/programs.ts";

/** More runners than cores, because most files wait more than they compute. */
const RUNNER_COUNT = availableParallelism() + 4;

/** Attacks that take minutes together; `npm run test:hostile` runs them. */
const LONG_ATTACKS = join("test", "hostile", "long");

const runInSequence = (files: readonly string[], env: Record<string, string>): Promise<Outcome[]> =>
  runFiles({ light: files, runners: 1, env });

/** The static checks run beside the files that leave a part of the processor unused. */
async function runAll(env: Record<string, string>): Promise<Outcome[]> {
  const { alone, ...files } = testFiles();
  const timed = alone.filter((file) => !file.startsWith(LONG_ATTACKS));
  const [checks, outcomes] = await Promise.all([runChecks(), runInSequence(timed, env)]);
  return [...checks, ...outcomes, ...(await runFiles({ ...files, runners: RUNNER_COUNT, env }))];
}

/** The files to run, none for all; `--redis` names the server that runs as Redis. */
function readOptions(args: readonly string[]): { files: string[]; redis: Program } {
  const options = { redis: { type: "string", default: REDIS.name } } as const;
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const redis = REDIS_PROGRAMS.find(({ name }) => name === values.redis);
  if (!redis) throw new Error(`--redis is one of ${REDIS_PROGRAMS.map(({ name }) => name).join(", ")}`);
  return { files: positionals, redis };
}

async function main(args: readonly string[]): Promise<Outcome[]> {
  const { files, redis } = readOptions(args);
  if (redis === VALKEY) ensureValkey(say);
  // All programs are ensured together, so that one message names all missing ones. Single files install their own.
  if (files.length === 0) ensurePrograms(TEST_PROGRAMS, process.env.PATH ?? "", say);
  return withTestServers(redis, (env) => (files.length > 0 ? runInSequence(files, env) : runAll(env)));
}

const [startedAt, stolenBefore] = [performance.now(), stolenSeconds()];
const outcomes = await main(process.argv.slice(2)).catch((error: unknown): Outcome[] => {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return [{ name: "npm test", ms: 0, passed: 0, failures: [`npm test > ${error}`] }];
});
const summary = {
  seconds: (performance.now() - startedAt) / 1_000,
  processorSeconds: processorSeconds(process.pid),
  stolenSeconds: stolenSeconds() - stolenBefore,
  passed: outcomes.reduce((sum, { passed }) => sum + passed, 0),
  failures: outcomes.flatMap(({ failures }) => failures),
};
saySlowest(outcomes);
saySummary(summary);
const end = () => process.exit(summary.failures.length === 0 && summary.passed > 0 ? 0 : 1);
if (process.send) process.send(summary, end);
else end();
