import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import t from "tap";
import { loadAllCommands, VERB_GROUPS } from "../../src/commands/verbs.ts";
import { packageRoot } from "../../src/runtime/package-root.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";

t.test("the list of verbs names the commands of each module with their summaries", async (t) => {
  for (const { names, summary, load } of VERB_GROUPS) {
    const commands = await load();
    t.same(
      commands.map(({ name }) => name),
      names,
    );
    const isSingleWord = names.length === 1 && !names[0]?.includes(" ");
    t.equal(summary, isSingleWord ? commands[0]?.summary : undefined, names.join(", "));
  }
  t.equal((await loadAllCommands()).length, VERB_GROUPS.flatMap(({ names }) => names).length);
});

t.test("the help lists every verb, and each verb has its own", async (t) => {
  const herald = createCommandRunner(t, {});
  const { code, out } = await herald("--help");
  t.equal(code, 0);
  t.match(out, /\n {2}client +create, list, delete\n/);
  t.match(out, /\n {2}stats +totals, failures\n/);
  t.match(out, /\n {2}listen \[options\] +Show a client's events/);
  t.match((await herald("help client")).out, /\n {2}create \[options\] +Create a client\n/);
  t.match((await herald("listen --help")).out, /--forward-to <URL>/);
  t.match((await herald("trigger --help")).out, /Usage: herald trigger \[options\] \[TYPE\]\n/);
  t.match(await herald("liste"), { code: 2, err: /Did you mean (?:one of )?listen/ });
});

/** Prints the URL of each module that is loaded, before the program's own output. */
const RECORDER = `data:text/javascript,${encodeURIComponent(`
  import { register } from "node:module";
  register("data:text/javascript," + encodeURIComponent(
    'import { writeSync } from "node:fs";' +
    'export const load = (url, context, next) => { writeSync(2, "loaded " + url + "\\\\n"); return next(url, context); };'
  ));`)}`;

/** The packages in the parts of the built command line that this command loads. */
async function packagesOf(...args: string[]): Promise<string[]> {
  const built = join(packageRoot(), "dist/bin/herald.js");
  const env = { HERALD_URL: "http://localhost:1", HERALD_API_KEY: "svc_test_key" };
  const { stderr } = await promisify(execFile)(process.execPath, ["--import", RECORDER, built, ...args], {
    env,
  });
  const files = [...stderr.matchAll(/^loaded (file:.+)$/gm)].map(([, url]) => fileURLToPath(url as string));
  const packages = files.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/^\/\/ node_modules\/((?:@[^/]+\/)?[^/]+)\//gm)].map(
      ([, name]) => name as string,
    ),
  );
  return [...new Set(packages)].sort();
}

t.test("a command loads only the packages that it needs", async (t) => {
  const [help, listen, trigger, client] = await Promise.all([
    packagesOf("--help"),
    packagesOf("listen", "--print-secret"),
    packagesOf("trigger", "--list"),
    packagesOf("client", "--help"),
  ]);
  // node-cron checks settings, which every verb reads; it takes 7 ms.
  t.same(help, ["commander", "node-cron", "reflect-metadata"]);
  for (const heavy of ["pg", "ioredis", "express", "got", "undici", "tsyringe"]) {
    t.notOk(listen.includes(heavy), `listen: ${heavy}`);
    t.notOk(trigger.includes(heavy), `trigger: ${heavy}`);
  }
  t.ok(client.includes("pg"), "the check sees the packages of a part");
});
