/** Writes the generated tables of README.md and docs/, and `.env.example`, from the code: `npm run docs`. */
import "reflect-metadata";
import { packageRoot } from "../src/runtime/package-root.ts";
import { generateParts, updateDocs } from "./docs/update-docs.ts";

const changed = updateDocs(packageRoot(), await generateParts());
process.stdout.write(changed.length === 0 ? "nothing to update\n" : `updated ${changed.join(", ")}\n`);
