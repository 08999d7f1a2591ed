import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { packageRoot } from "../../src/runtime/package-root.ts";
import { AD_ACCOUNTS, BUILT_IN_TOKENS, LEADS, PAGES, WABAS } from "../../src/sandbox/built-in-assets.ts";
import { MAGIC_VALUES } from "../../src/sandbox/control-routes/magic-values.ts";
import { CALL_FAULTS, WEBHOOK_FAULTS } from "../../src/sandbox/faults/fault.ts";
import { callSandbox, SANDBOX_SETTINGS, startSandbox } from "../fixtures/sandbox/sandbox.ts";
import { curlProgram } from "../fixtures/servers/programs.ts";

const run = promisify(execFile);

const readme = readFileSync(join(packageRoot(), "README.md"), "utf8");
const section = /^## Sandbox\n(.*?)^## /ms.exec(readme)?.[1] ?? "";

/** What stands in the first column of the tables, without its quotes. */
const rows = [...section.matchAll(/^\| `([^`]+)`.* \| (.*) \|$/gm)];
const uniqueMatches = (pattern: RegExp) => [...new Set(section.match(pattern))].sort();

t.test("the README's assets and tokens are those in the code, all of them and no others", async (t) => {
  const accounts = AD_ACCOUNTS.map(({ id }) => id);
  const numbers = WABAS.flatMap(({ id, numbers }) => [id, ...numbers.map((number) => number.id)]);
  const pages = PAGES.flatMap(({ id, instagram }) => [id, ...(instagram ? [instagram.id] : [])]);
  const leads = LEADS.map(({ id }) => id);
  const app = [SANDBOX_SETTINGS.PLATFORM_APP_ID, SANDBOX_SETTINGS.SIGNUP_CONFIG_ID];
  t.same(uniqueMatches(/\d{16,18}/g), [...app, ...accounts, ...numbers, ...pages, ...leads].sort());
  t.same(uniqueMatches(/EAASandbox\w+/g), Object.keys(BUILT_IN_TOKENS).sort());
  for (const [token, { assets }] of Object.entries(BUILT_IN_TOKENS)) {
    const documentedAssets = rows.find(([, first]) => first === token)?.[2] ?? "";
    for (const asset of assets) t.match(documentedAssets, asset, token);
  }
});

t.test("the README's faults and magic values are those in the code", async (t) => {
  const kinds: readonly string[] = [...CALL_FAULTS, ...WEBHOOK_FAULTS];
  const table = /^\| kind \|.*?\n\n/ms.exec(section)?.[0] ?? "";
  t.same(
    [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, kind]) => kind),
    kinds,
  );
  const magicRows = /^\| value \|.*?\n\n/ms.exec(section)?.[0].trim().split("\n").slice(2);
  t.same(
    magicRows,
    MAGIC_VALUES.map(({ value, effect }) => `| ${value} | ${effect} |`),
  );
});

t.test("the README's doors are there, and those that are there stand in it", async (t) => {
  const { origin } = await startSandbox(t);
  const { doors } = (await callSandbox(`${origin}/_sandbox`)).body;
  const paths = doors.map(({ door }: { door: string }) => door.split(" ")[1]);
  const table = /^\| door \|.*?\n\n/ms.exec(section)?.[0] ?? "";
  const documentedPaths = table.match(/\/_sandbox\/[\w/*]+/g);
  t.same([...new Set(documentedPaths)].sort(), [...new Set(paths)].sort());
});

t.test("the README's dialogs open", async (t) => {
  const { origin } = await startSandbox(t, { settings: { PUBLIC_URL: "http://localhost:8080" } });
  const dialogs = section.split("\n").filter((line) => line.startsWith("http://localhost:8090/dialog/"));
  t.equal(dialogs.length, 2);
  for (const dialog of dialogs) {
    const { status, body } = await callSandbox(dialog.replace("http://localhost:8090", origin));
    t.equal(status, 200, dialog);
    t.match(body, `data-action="grant"`, dialog);
  }
});

t.test("the README's commands work when pasted", async (t) => {
  const { origin } = await startSandbox(t);
  const commands = section.split("\n").filter((line) => line.startsWith("curl "));
  t.ok(commands.length > 3);
  curlProgram();
  for (const command of commands) {
    const pasted = command.replace("localhost:8090", new URL(origin).host);
    const { stdout } = await run("sh", ["-c", pasted]);
    t.notMatch(JSON.parse(stdout), { error: {} }, command);
  }
});
