import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { readConfig } from "../src/runtime/config/config.ts";
import { SETTINGS } from "../src/runtime/config/settings.ts";
import { packageRoot } from "../src/runtime/package-root.ts";

interface Manifest {
  formation: Record<string, unknown>;
  env: Record<string, { value?: string; generator?: string; description?: string }>;
}

const textOf = (file: string) => readFileSync(join(packageRoot(), file), "utf8");
const manifest: Manifest = JSON.parse(textOf("app.json"));
const processes: Record<string, string> = Object.fromEntries(
  [...textOf("Procfile").matchAll(/^(\w+): node dist\/(.+)\.js$/gm)].map(([, type, file]) => [type, file]),
);

t.test("the Procfile names existing entry points, and app.json runs them", async (t) => {
  t.same(Object.keys(processes), ["release", "web", "dispatcher", "scheduler"]);
  for (const file of Object.values(processes)) t.ok(existsSync(join(packageRoot(), `${file}.ts`)), file);
  t.same(Object.keys(manifest.formation), ["web", "dispatcher", "scheduler"]);
});

t.test("the settings of app.json are sufficient to start in production", async (t) => {
  // The add-ons set these; the user enters the others in the form.
  const addonSettings = {
    DATABASE_URL: "postgres://u:p@db.example/d",
    REDIS_URL: "rediss://:p@redis.example:6379",
  };
  const formValue = (name: string) => {
    if (name === "ENCRYPTION_KEYS") return `k1:${Buffer.alloc(32).toString("base64")}`;
    return name.endsWith("_URL") ? "https://somewhere.example" : "1";
  };
  const entries = Object.entries(manifest.env).map(([name, { value, generator }]) => [
    name,
    value ?? (generator === "secret" ? "s".repeat(64) : formValue(name)),
  ]);
  const config = readConfig({ ...addonSettings, ...Object.fromEntries(entries) });
  t.equal(config.NODE_ENV, "production");
});

t.test("app.json contains only existing settings, each with a value or a description", async (t) => {
  const ours = Object.keys(SETTINGS);
  t.same(
    Object.keys(manifest.env).filter((name) => !ours.includes(name)),
    ["PGSSLMODE"],
  );
  for (const [name, { value, description }] of Object.entries(manifest.env)) t.ok(value ?? description, name);
});
