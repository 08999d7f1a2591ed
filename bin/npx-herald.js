#!/usr/bin/env node
/** Entry of `npx herald`: runs the built command line, or says how to build it. */
import { existsSync } from "node:fs";

const built = new URL("../dist/bin/herald.js", import.meta.url);
if (existsSync(built)) await import(built.href);
else {
  process.stderr.write("herald is not built yet: run npm run build (npm start does that too)\n");
  process.exitCode = 1;
}
