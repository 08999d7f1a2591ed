import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import t from "tap";
import { packageRoot } from "../src/runtime/package-root.ts";

const ROOT = packageRoot();

/** The folders and files that each folder may import. */
const ALLOWED_IMPORTS: Record<string, readonly string[]> = {
  bin: ["src", "workers"],
  workers: [
    "src/domain",
    "src/queue",
    "src/delivery",
    "src/platforms",
    "src/schema",
    "src/store",
    "src/security",
    "src/runtime",
  ],
  // A thread does a part of a request, so it reads and refuses input like the pipeline.
  "workers/threads": [
    "src/domain",
    "src/http/api-error.ts",
    "src/http/request/input.ts",
    "src/resources",
    "src/runtime",
    "src/schema",
  ],
  "src/composition": ["src", "workers"],
  "src/resources": [
    "src/http/route.ts",
    "src/http/lists.ts",
    "src/http/api-error.ts",
    "src/http/heavy-requests.ts",
    "src/http/views",
    "src/schema",
    "src/domain",
    "src/platforms",
    "src/store",
    "src/security",
    "src/queue",
    "src/delivery",
    "src/runtime",
  ],
  "src/commands": ["src/domain", "src/schema", "src/store", "src/queue", "src/security", "src/runtime"],
  "src/domain": [
    "src/queue",
    "src/delivery",
    "src/platforms",
    "src/schema",
    "src/store",
    "src/security",
    "src/runtime",
  ],
  "src/http": ["src/platforms/errors", "src/schema", "src/store", "src/security", "src/runtime"],
  "src/queue": ["src/schema", "src/store", "src/security", "src/runtime"],
  "src/delivery": ["src/schema", "src/store", "src/security", "src/runtime"],
  "src/platforms": ["src/schema", "src/security", "src/runtime"],
  "src/store": ["src/runtime"],
  "src/security": ["src/runtime"],
  // A client of the public API, as others write them.
  "src/console": ["sdk/src/generated"],
  "src/local": ["src/runtime"],
  "src/sandbox": ["src/schema", "src/runtime"],
  "src/schema": [],
  "src/runtime": [],
  tools: ["src", "workers", "sdk"],
  // A package of its own, which users install without Herald.
  sdk: [],
};

/** The folders that may import each package. */
const HOMES: Record<string, readonly string[]> = {
  "@preact/signals": ["src/console"],
  "@sinclair/typebox": ["src/schema"],
  ajv: ["src/schema"],
  "ajv-formats": ["src/schema"],
  commander: ["src/commands"],
  concurrently: ["src/local"],
  "csv-parse": ["src/commands"],
  "csv-stringify": ["src/domain"],
  esbuild: ["tools"],
  express: ["src/http"],
  got: ["src/platforms"],
  ioredis: ["src/queue"],
  jose: ["src/security"],
  "lru-cache": ["src/delivery", "src/domain", "src/http", "src/platforms", "src/security", "workers"],
  marked: ["tools"],
  "node-cron": ["src/runtime/config", "workers/scheduler"],
  pg: ["src/store"],
  pino: ["src/runtime"],
  "pino-pretty": ["src/runtime"],
  piscina: ["src/composition", "workers/threads"],
  "playwright-core": ["tools"],
  "postgres-migrations": ["src/store"],
  preact: ["src/console"],
  "prom-client": ["src/runtime"],
  "rate-limiter-flexible": ["src/http", "src/security"],
  "reflect-metadata": ["bin", "tools"],
  tsyringe: ["src/composition", "bin"],
  uplot: ["src/console"],
  undici: ["src/delivery", "src/platforms", "src/runtime/http"],
};

const MAX_FILE_LINES = 400;
const MIN_FILE_LINES = 40;
const MAX_FOLDER_FILES = 20;

interface Import {
  file: string;
  target: string;
  isTypeOnly?: boolean;
}

const filesIn = (folder: string) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => /\.tsx?$/.test(file) && !file.includes("node_modules"))
    .map((file) => join(folder, file));

const sources = ["bin", "src", "workers", "tools", "sdk/src"].flatMap(filesIn);

const textOf = (file: string) => readFileSync(join(ROOT, file), "utf8");

const imports: Import[] = sources.flatMap((file) => {
  const matches = textOf(file).matchAll(
    /^(?:import|export)\b[^;]*?from "([^"]+)";|^import "([^"]+)";|\bimport\("([^"]+)"\)/gm,
  );
  return [...matches].map((match) => ({
    file,
    target: (match[1] ?? match[2] ?? match[3]) as string,
    isTypeOnly: /^(?:import|export) type\b/.test(match[0]),
  }));
});

/** Imports of project files, as paths from the root. */
const fileImports: Import[] = imports
  .filter(({ target }) => target.startsWith("."))
  .map(({ file, target, ...rest }) => ({ file, target: normalize(join(dirname(file), target)), ...rest }));

/** The folders that contain a file, from the innermost on. */
function foldersOf(file: string): string[] {
  const folder = dirname(file);
  return folder === "." ? [] : [folder, ...foldersOf(folder)];
}

const isInside = (file: string, folder: string) => file === folder || file.startsWith(`${folder}/`);

const MARKETING = "src/resources/marketing";
const CONSOLE = "src/console";

/**
 * Returns the folder whose import rules apply to a file. Each resource folder is closed to the others; each folder in
 * marketing/ is a resource too, and the files directly in marketing/ are shared by them.
 */
function unitOf(file: string): string {
  const parts = file.split("/");
  if (isInside(file, "workers/threads")) return "workers/threads";
  if (isInside(file, MARKETING)) return parts.slice(0, parts.length > 4 ? 4 : 3).join("/");
  if (isInside(file, "src/resources")) return parts.slice(0, 3).join("/");
  return parts[0] === "src" ? parts.slice(0, 2).join("/") : (parts[0] as string);
}

function canImport(from: string, to: string): boolean {
  const [unit, target] = [unitOf(from), unitOf(to)];
  if (unit === target) return true;
  if (target === CONSOLE) return false;
  if (target === MARKETING && isInside(unit, MARKETING)) return true;
  const rule = isInside(unit, "src/resources") ? "src/resources" : unit;
  return (ALLOWED_IMPORTS[rule] ?? []).some((folder) => isInside(to, folder));
}

t.test("every import of a project file names the source file", async (t) => {
  t.ok(fileImports.length > 0);
  t.same(
    fileImports.filter(({ target }) => !existsSync(join(ROOT, target))),
    [],
  );
});

t.test("every import follows the import rules", async (t) => {
  const wrong = fileImports
    .filter(({ file, target }) => !canImport(file, target))
    .map(({ file, target }) => `${file} -> ${target}`);
  t.same(wrong, []);
});

t.test(
  "a resource imports no other resource, and a marketing resource only the shared files of marketing/",
  async (t) => {
    const routes = "src/resources/keys/routes.ts";
    const campaigns = `${MARKETING}/campaigns/routes.ts`;
    t.notOk(canImport(routes, "src/resources/users/schema.ts"));
    t.notOk(canImport(campaigns, routes));
    t.notOk(canImport(campaigns, `${MARKETING}/adsets/schema.ts`));
    t.notOk(canImport(`${MARKETING}/shared.ts`, campaigns));
    t.ok(canImport(campaigns, `${MARKETING}/campaigns/schema.ts`));
    t.ok(canImport(campaigns, `${MARKETING}/shared.ts`));
    t.ok(canImport(campaigns, "src/http/route.ts"));
    t.notOk(canImport(campaigns, "src/http/pipeline.ts"));
  },
);

t.test("the console imports only types of the SDK, and no process imports the console", async (t) => {
  const fromSdk = fileImports.filter(
    ({ file, target }) => isInside(file, CONSOLE) && isInside(target, "sdk"),
  );
  t.same(
    fromSdk.filter(({ isTypeOnly }) => !isTypeOnly),
    [],
  );
  const main = `${CONSOLE}/main.tsx`;
  t.ok(sources.includes(main));
  t.ok(canImport(main, "sdk/src/generated/types.ts"));
  t.notOk(canImport(main, "sdk/src/index.ts"));
  t.notOk(canImport(main, "src/schema/enumerations.ts"));
  for (const file of ["bin/web.ts", "src/composition/web/routes.ts", "tools/generate-sdk.ts"])
    t.notOk(canImport(file, main), file);
});

/** Returns at least one path through each group of files that import each other. */
function findCycles(edges: readonly Import[]): string[] {
  const targets = new Map<string, string[]>();
  for (const { file, target } of edges) targets.set(file, [...(targets.get(file) ?? []), target]);
  const cycles: string[] = [];
  const path: string[] = [];
  const visited = new Set<string>();
  function visit(file: string): void {
    const start = path.indexOf(file);
    if (start >= 0) cycles.push([...path.slice(start), file].join(" -> "));
    if (visited.has(file)) return;
    visited.add(file);
    path.push(file);
    for (const target of targets.get(file) ?? []) visit(target);
    path.pop();
  }
  for (const file of targets.keys()) visit(file);
  return cycles;
}

t.test("no files import each other in a cycle, not even types", async (t) => {
  t.same(findCycles(fileImports), []);
});

t.test(
  "the search for cycles finds each cycle and does not report a file that is imported twice",
  async (t) => {
    const edgesOf = (...pairs: string[]) => pairs.map(([file = "", target = ""]) => ({ file, target }));
    t.same(findCycles(edgesOf("ab", "ac", "bd", "cd")), []);
    t.same(findCycles(edgesOf("ab", "bc", "cb")), ["b -> c -> b"]);
    t.same(findCycles(edgesOf("aa")), ["a -> a"]);
  },
);

t.test("every package is imported only where it belongs", async (t) => {
  const packages = imports.filter(({ target }) => !target.startsWith(".") && !target.startsWith("node:"));
  t.ok(packages.length > 0);
  const wrong = packages
    .map(({ file, target }) => ({
      file,
      name: target
        .split("/")
        .slice(0, target.startsWith("@") ? 2 : 1)
        .join("/"),
    }))
    .filter(({ file, name }) => !(HOMES[name] ?? []).some((home) => isInside(file, home)))
    .map(({ file, name }) => `${name} in ${file}`);
  t.same(wrong, []);
});

t.test("every production dependency is used", async (t) => {
  const manifest = JSON.parse(textOf("package.json")) as { dependencies: Record<string, string> };
  const unused = Object.keys(manifest.dependencies).filter(
    (name) => !imports.some(({ target }) => target === name || target.startsWith(`${name}/`)),
  );
  t.same(unused, []);
});

t.test("only bin/ reads the environment", async (t) => {
  t.same(
    sources.filter((file) => !isInside(file, "bin") && textOf(file).includes("process.env")),
    [],
  );
});

t.test("no route and no command opens a transaction", async (t) => {
  const callers = ["src/resources", "src/commands"];
  t.same(
    sources.filter(
      (file) => callers.some((folder) => isInside(file, folder)) && /\btransaction\(/.test(textOf(file)),
    ),
    [],
  );
});

t.test("only src/http and src/resources create API errors", async (t) => {
  const makers = sources.filter((file) => textOf(file).includes("new ApiError("));
  t.ok(makers.length > 0);
  t.same(
    makers.filter((file) => !isInside(file, "src/http") && !isInside(file, "src/resources")),
    [],
  );
});

const lineCount = (file: string) => textOf(file).split("\n").length - 1;

const GENERATED = "sdk/src/generated";

t.test(`no source file has more than ${MAX_FILE_LINES} lines`, async (t) => {
  t.same(
    sources.filter((file) => lineCount(file) > MAX_FILE_LINES && !isInside(file, GENERATED)),
    [],
  );
});

/** Files below the minimum that have one user and are no entry points, and why each is a file of its own. */
const SMALL_FILES: Record<string, string> = {
  "src/queue/queue-hold.ts":
    "operators and developers look the hold up by its name, and no other file is about it",
};
const MAX_SMALL_FILES = 15;

const ENTRY_POINTS = [
  "bin",
  "workers/threads",
  "tools/generate-docs.ts",
  "tools/generate-sdk.ts",
  "tools/screenshots.ts",
  "src/console/main.tsx",
  "sdk/src/index.ts",
];

t.test(`a file with fewer than ${MIN_FILE_LINES} lines has several users or is an entry point`, async (t) => {
  const usersOf = (file: string) =>
    new Set(fileImports.filter(({ target }) => target === file).map((found) => found.file));
  const isEntryPoint = (file: string) => ENTRY_POINTS.some((entry) => isInside(file, entry));
  const small = sources.filter(
    (file) => lineCount(file) < MIN_FILE_LINES && usersOf(file).size < 2 && !isEntryPoint(file),
  );
  t.same(small.sort(), Object.keys(SMALL_FILES).sort());
  t.ok(small.length <= MAX_SMALL_FILES);
});

/** Returns pairs of children (files or folders) of a folder that import each other, directly or through others. */
function findFolderCycles(folder: string): string[] {
  const childOf = (file: string) => file.slice(folder.length + 1).split("/")[0] as string;
  const edges = fileImports
    .filter(({ file, target }) => isInside(file, folder) && isInside(target, folder))
    .map(({ file, target }) => ({ file: childOf(file), target: childOf(target) }))
    .filter(({ file, target }) => file !== target);
  return findCycles(edges).map((cycle) => `${folder}: ${cycle}`);
}

t.test("in each folder, files and folders import in one direction", async (t) => {
  // The generated types are the lowest layer of the SDK, the generated operations a high one.
  const layered = sources.filter((file) => !isInside(file, "sdk"));
  const folders = new Set(layered.flatMap((file) => foldersOf(file)));
  t.ok(folders.has("src/sandbox"));
  t.same([...folders].flatMap(findFolderCycles), []);
});

t.test(`no folder holds more than ${MAX_FOLDER_FILES} files`, async (t) => {
  const counts = new Map<string, number>();
  for (const root of ["bin", "src", "workers", "test"])
    for (const entry of readdirSync(join(ROOT, root), { recursive: true, withFileTypes: true }))
      if (entry.isFile() && !entry.parentPath.includes("node_modules"))
        counts.set(entry.parentPath, (counts.get(entry.parentPath) ?? 0) + 1);
  t.same(
    [...counts].filter(([, count]) => count > MAX_FOLDER_FILES).map(([folder]) => folder),
    [],
  );
});

t.test("every test folder has a source folder of the same name", async (t) => {
  const own = ["bench", "driver", "e2e", "failover", "fixtures", "hostile", "sdk/types"];
  const isOwn = (folder: string) => own.some((name) => isInside(folder, `test/${name}`));
  const folders = new Set(filesIn("test").map(dirname));
  const sourceOf = (folder: string) => [`src/${folder.slice(5)}`, folder.slice(5)];
  const orphans = [...folders]
    .filter((folder) => folder !== "test" && !isOwn(folder))
    .filter((folder) => !sourceOf(folder).some((source) => existsSync(join(ROOT, source))));
  t.same(orphans, []);
});
