/**
 * `npm run test:failover`: causes the faults of test/failover/cases under load and prints a table. `-- redis-cluster` runs
 * the cases whose names contain this, and `--write` stores their rows in docs/operate/scaling.md.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ensurePrograms, REDIS } from "../../src/local/programs.ts";
import { packageRoot } from "../../src/runtime/package-root.ts";
import { type Outcome, say, saySummary } from "../driver/outcomes.ts";
import { withTestServers } from "../driver/servers.ts";
import { runFiles } from "../driver/test-files.ts";
import { ensureValkey } from "../driver/valkey.ts";
import { processorSeconds, stolenSeconds } from "../fixtures/processes/processor-time.ts";
import { TEST_PROGRAMS, VALKEY } from "../fixtures/servers/programs.ts";
import { CASES } from "./cases/index.ts";
import { CASES_VARIABLE, type Measurement, RESULTS_VARIABLE } from "./frame/case.ts";
import { mergeRows, resultsTable, toRow, updatePage } from "./report.ts";

const RESULTS = join(packageRoot(), "dist/failover.jsonl");

function readOptions(args: readonly string[]) {
  const options = { write: { type: "boolean", default: false } } as const;
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const chosen = CASES.filter(
    ({ name }) => positionals.length === 0 || positionals.some((part) => name.includes(part)),
  );
  if (chosen.length === 0)
    throw new Error(`no such case; there are ${CASES.map(({ name }) => name).join(", ")}`);
  return { chosen, isWriting: values.write };
}

const { chosen, isWriting } = readOptions(process.argv.slice(2));
ensurePrograms(TEST_PROGRAMS, process.env.PATH ?? "", say);
if (chosen.some(({ program }) => program === VALKEY)) ensureValkey(say);
const [startedAt, stolenBefore] = [performance.now(), stolenSeconds()];
writeFileSync(RESULTS, "");
const outcomes = await withTestServers(REDIS, async (env): Promise<Outcome[]> => {
  const variables = {
    [CASES_VARIABLE]: chosen.map(({ name }) => name).join(","),
    [RESULTS_VARIABLE]: RESULTS,
  };
  return runFiles({ light: ["test/failover/failover.test.ts"], runners: 1, env: { ...env, ...variables } });
});
const measured = readFileSync(RESULTS, "utf8")
  .split("\n")
  .filter(Boolean)
  .map((line): Measurement & { name: string } => JSON.parse(line));
rmSync(RESULTS);
const rows = chosen.flatMap((each) => {
  const measurement = measured.find(({ name }) => name === each.name);
  return measurement ? [toRow(each, measurement)] : [];
});
say(`\n${resultsTable(rows)}`);
if (isWriting) updatePage(packageRoot(), (stored) => mergeRows(stored, rows));
const failures = [
  ...outcomes.flatMap((outcome) => outcome.failures),
  ...chosen.filter(({ name }) => !measured.some((each) => each.name === name)).map(({ name }) => name),
];
saySummary({
  seconds: (performance.now() - startedAt) / 1_000,
  processorSeconds: processorSeconds(process.pid),
  stolenSeconds: stolenSeconds() - stolenBefore,
  passed: outcomes.reduce((sum, { passed }) => sum + passed, 0),
  failures,
});
process.exit(failures.length === 0 ? 0 : 1);
