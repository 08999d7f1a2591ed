/** Bundles the SDK into sdk/dist. Only files that change are written: a test may be loading the others. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const folder = fileURLToPath(new URL("../sdk", import.meta.url));

const { outputFiles } = await build({
  absWorkingDir: folder,
  entryPoints: ["src/index.ts", "src/webhooks.ts"],
  outdir: "dist",
  bundle: true,
  write: false,
  platform: "neutral",
  target: "es2022",
  format: "esm",
  // The comments are in the type declarations.
  minifyWhitespace: true,
  lineLimit: 120,
  logLevel: "warning",
});
mkdirSync(`${folder}/dist`, { recursive: true });
for (const { path, text } of outputFiles)
  if (!existsSync(path) || readFileSync(path, "utf8") !== text) writeFileSync(path, text);
