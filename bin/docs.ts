/** Writes the generated tables of README.md and docs/, and `.env.example`, from the code: `npm run docs`. */
import "reflect-metadata";
import { generateParts, updateDocs } from "../src/composition/docs/update-docs.ts";
import { registerDescribedWeb } from "../src/composition/web/server.ts";
import { packageRoot } from "../src/runtime/package-root.ts";

const changed = updateDocs(packageRoot(), await generateParts(registerDescribedWeb()));
process.stdout.write(changed.length === 0 ? "nothing to update\n" : `updated ${changed.join(", ")}\n`);
