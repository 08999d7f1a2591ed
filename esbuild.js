/**
 * Builds each process of bin/ into one file: finding and opening the thousand files that its packages consist of would
 * take most of the time of a start.
 */
import { readdirSync } from "node:fs";
import { build } from "esbuild";

/** They look for their own files beside themselves. */
const UNBUNDLED = ["postgres-migrations", "swagger-ui-dist"];

/** What packages of the older kind expect to find, under names that no module of ours has. */
const OLD_NAMES = `
import { createRequire as __createRequire } from "node:module";
const require = __createRequire(import.meta.url);
const __filename = require("node:url").fileURLToPath(import.meta.url);
const __dirname = require("node:path").dirname(__filename);
`;

await build({
  entryPoints: readdirSync("bin")
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `bin/${name}`),
  outdir: "dist/bin",
  bundle: true,
  platform: "node",
  target: "node20",
  format: "esm",
  external: UNBUNDLED,
  banner: { js: OLD_NAMES },
  sourcemap: true,
  sourcesContent: false,
  logLevel: "warning",
});
