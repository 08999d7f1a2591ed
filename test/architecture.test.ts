import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import t from "tap";
import { packageRoot } from "../src/runtime/package-root.ts";

const ROOT = packageRoot();

/** Who may import whom. A room not named on the right is closed to the one on the left; a single file may be opened alone. */
const ARROWS: Record<string, readonly string[]> = {
  bin: ["src", "workers"],
  workers: [
    "src/runtime",
    "src/schema",
    "src/store",
    "src/security",
    "src/dispatch",
    "src/platforms",
    "src/tenancy",
  ],
  "src/composition": ["src", "workers"],
  "src/resources": [
    "src/http/route.ts",
    "src/http/lists.ts",
    "src/http/pages/page.ts",
    "src/schema",
    "src/platforms",
    "src/dispatch",
    "src/tenancy",
    "src/store",
    "src/security",
    "src/runtime",
  ],
  "src/http": ["src/schema", "src/store", "src/security", "src/runtime"],
  "src/dispatch": ["src/schema", "src/store", "src/security", "src/runtime"],
  "src/commands": ["src/tenancy", "src/schema", "src/dispatch", "src/store", "src/security", "src/runtime"],
  "src/tenancy": ["src/dispatch", "src/platforms", "src/schema", "src/store", "src/security", "src/runtime"],
  "src/platforms": ["src/schema", "src/security", "src/runtime"],
  "src/store": ["src/runtime"],
  "src/security": ["src/runtime"],
  "src/local": ["src/runtime"],
  "src/sandbox": ["src/schema", "src/runtime"],
  "src/schema": [],
  "src/runtime": [],
};

/** Where each package may be imported. */
const HOMES: Record<string, readonly string[]> = {
  "@sinclair/typebox": ["src/schema"],
  ajv: ["src/schema"],
  "ajv-formats": ["src/schema"],
  commander: ["src/commands"],
  concurrently: ["src/local"],
  express: ["src/http"],
  got: ["src/platforms"],
  jose: ["src/security"],
  "lru-cache": ["src/http", "src/platforms", "src/dispatch"],
  ioredis: ["src/dispatch", "src/composition"],
  "node-cron": ["workers/scheduler"],
  pg: ["src/store"],
  pino: ["src/runtime"],
  "pino-pretty": ["src/runtime"],
  "postgres-migrations": ["src/store"],
  "prom-client": ["src/runtime"],
  "rate-limiter-flexible": ["src/http", "src/security"],
  "reflect-metadata": ["bin"],
  "swagger-ui-dist": ["src/resources/docs"],
  tsyringe: ["src/composition", "bin"],
  ulid: ["src/runtime"],
  undici: ["src/dispatch"],
};

interface Import {
  file: string;
  target: string;
}

const filesIn = (folder: string) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => join(folder, file));

const sources = ["bin", "src", "workers"].flatMap(filesIn);

const textOf = (file: string) => readFileSync(join(ROOT, file), "utf8");

const imports: Import[] = sources.flatMap((file) => {
  const matches = textOf(file).matchAll(/^(?:import|export)\b[^;]*?from "([^"]+)";|^import "([^"]+)";/gm);
  return [...matches].map((match) => ({ file, target: (match[1] ?? match[2]) as string }));
});

const isInside = (file: string, place: string) => file === place || file.startsWith(`${place}/`);

/** The room a file lies in, by the longest name: resources are rooms of their own, each closed to the others. */
function roomOf(file: string): string {
  const parts = file.split("/");
  if (isInside(file, "src/resources")) return parts.slice(0, 3).join("/");
  return parts[0] === "src" ? parts.slice(0, 2).join("/") : (parts[0] as string);
}

function mayImport(from: string, to: string): boolean {
  if (roomOf(from) === roomOf(to)) return true;
  const rule = roomOf(from).startsWith("src/resources/") ? "src/resources" : roomOf(from);
  return (ARROWS[rule] ?? []).some((place) => isInside(to, place));
}

t.test("every import goes the way the plan of the house allows", async (t) => {
  const wrong = imports
    .filter(({ target }) => target.startsWith("."))
    .map(({ file, target }) => ({ file, target: normalize(join(dirname(file), target)) }))
    .filter(({ file, target }) => !mayImport(file, target))
    .map(({ file, target }) => `${file} -> ${target}`);
  t.same(wrong, []);
});

t.test("every package stays at home, and has one", async (t) => {
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

t.test("the environment is read in bin/ alone", async (t) => {
  t.same(
    sources.filter((file) => !isInside(file, "bin") && textOf(file).includes("process.env")),
    [],
  );
});

t.test("no file has grown past 250 lines", async (t) => {
  t.same(
    sources.filter((file) => textOf(file).split("\n").length > 250),
    [],
  );
});
