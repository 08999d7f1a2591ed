/**
 * Bundles each process of bin/ and each thread of workers/threads/ into one file: loading the thousand files of its
 * packages would take most of the start-up time. The command line is split into parts, so that a verb loads only its own
 * packages. Builds the pages for browsers and the SDK, too.
 */
import { cpSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import "./build-sdk.js";

/** Packages that load files from their own folder. Node finds their copies in dist/, which needs no other packages. */
const COPIED = ["piscina", "postgres-migrations"];
/** Packages that cannot be bundled; only tools use the last two. */
const UNBUNDLED = ["piscina", "esbuild", "playwright-core"];

/** Globals that CommonJS packages expect. */
const OLD_NAMES = `
import { createRequire as __createRequire } from "node:module";
const require = __createRequire(import.meta.url);
const __filename = require("node:url").fileURLToPath(import.meta.url);
const __dirname = require("node:path").dirname(__filename);
`;

/** Leaves out a part of got that Herald does not use (HTTP/2): loading it reads all root certificates. */
const withoutHttp2 = {
  name: "without-http2",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^http2-wrapper$/ }, ({ path }) => ({ path, namespace: "empty" }));
    onLoad({ filter: /./, namespace: "empty" }, () => ({ contents: "export default {}" }));
  },
};

/** Lets postgres-migrations find its first migration; unbundled, the package would load a second pg from its many files. */
const withFirstMigration = {
  name: "with-first-migration",
  setup({ onLoad }) {
    onLoad({ filter: /postgres-migrations.dist.files-loader\.js$/ }, ({ path }) => {
      const folder = 'path.dirname(require.resolve("postgres-migrations"))';
      return { contents: readFileSync(path, "utf8").replaceAll("__dirname", folder) };
    });
  },
};

const sourcesIn = (folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `${folder}/${name}`);

const COMMAND_LINE = "bin/herald.ts";
const COMMAND_LINE_PARTS = "bin/herald";

const FOR_NODE = {
  outbase: ".",
  outdir: "dist",
  bundle: true,
  platform: "node",
  target: "node20",
  format: "esm",
  external: UNBUNDLED,
  plugins: [withoutHttp2, withFirstMigration],
  banner: { js: OLD_NAMES },
  sourcemap: true,
  sourcesContent: false,
  logLevel: "warning",
};

for (const name of COPIED)
  for (const part of ["dist", "LICENSE", "package.json"])
    cpSync(join("node_modules", name, part), join("dist/node_modules", name, part), {
      recursive: true,
      filter: (file) => !/\.(?:d\.ts|map)$/.test(file),
    });
// The views read it, and src/ is not part of a deployment.
cpSync("src/http/views/tokens.css", "dist/views/tokens.css");

const processes = sourcesIn("bin").filter((file) => file !== COMMAND_LINE);
await build({
  ...FOR_NODE,
  entryPoints: [...processes, ...sourcesIn("tools"), ...sourcesIn("workers/threads")],
});

const { metafile } = await build({
  ...FOR_NODE,
  entryPoints: [COMMAND_LINE],
  splitting: true,
  chunkNames: `${COMMAND_LINE_PARTS}/[name]-[hash]`,
  metafile: true,
});
// Parts of the build before have other names.
const partsFolder = join("dist", COMMAND_LINE_PARTS);
for (const name of readdirSync(partsFolder))
  if (!Object.hasOwn(metafile.outputs, `${partsFolder}/${name}`)) rmSync(join(partsFolder, name));

// They are programs of tools/, which the first step above has bundled.
await Promise.all(["build-pages", "build-guides"].map((name) => import(`../dist/tools/${name}.js`)));
