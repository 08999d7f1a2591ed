import { runSandbox } from "../src/composition/sandbox.ts";

process.exit(await runSandbox(process.env));
