import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import t from "tap";
import { packageRoot } from "../../src/runtime/package-root.ts";

const MAX_FIRST_LOAD_BYTES = 45 * 1_024;
const MAX_ASSETS_BYTES = 120 * 1_024;

const FOLDER = join(packageRoot(), "dist/console");
const textOf = (file: string) => readFileSync(join(FOLDER, file), "utf8");
const gzippedBytes = (files: Iterable<string>) =>
  [...files].reduce((sum, file) => sum + gzipSync(textOf(file), { level: 9 }).length, 0);

/** Assets that index.html links to, in scripts and stylesheets. */
const linkedAssets = () =>
  [...textOf("index.html").matchAll(/assets\/[^"]+\.(?:js|css)(?=")/g)].map(([file]) => file);

/** Adds the chunks that the files import statically, which a browser loads before the first one runs. */
function withImports(files: readonly string[]): Set<string> {
  const all = new Set(files);
  // A Set that grows while it is iterated also yields what is added.
  for (const file of all)
    for (const [, name] of textOf(file).matchAll(/(?:\bfrom|\bimport)\s*"\.\/([^"]+\.js)"/g))
      all.add(`assets/${name}`);
  return all;
}

t.test("the files of the console's first view have at most 45 KB, compressed", async (t) => {
  const linked = linkedAssets();
  t.ok(linked.some((file) => file.endsWith(".js")) && linked.some((file) => file.endsWith(".css")));
  const bytes = gzippedBytes(["index.html", ...withImports(linked)]);
  t.ok(bytes <= MAX_FIRST_LOAD_BYTES, `${bytes} bytes`);
});

t.test("all assets of the console have at most 120 KB, compressed", async (t) => {
  const assets = readdirSync(join(FOLDER, "assets")).filter((name) => !/\.(br|gz)$/.test(name));
  t.ok(assets.length > 0);
  const bytes = gzippedBytes(assets.map((name) => `assets/${name}`));
  t.ok(bytes <= MAX_ASSETS_BYTES, `${bytes} bytes`);
});
