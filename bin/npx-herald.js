#!/usr/bin/env node
/** What `npx herald` runs: the built command line, or a word about building it first. */
import { existsSync } from "node:fs";

const built = new URL("../dist/bin/herald.js", import.meta.url);
if (existsSync(built)) await import(built.href);
else {
  process.stderr.write("herald is not built yet: npm run build (npm start does it too)\n");
  process.exitCode = 1;
}
