import "reflect-metadata";
import type { BaseContext } from "../src/commands/command-line/command.ts";
import { runCommand } from "../src/commands/program.ts";
import { openCommandContext } from "../src/composition/herald.ts";

process.stdout.on("error", () => {}); // a closed pipe (herald ... | head) is not an error

/** Loaded on use: most of the start-up time would be that of packages which a command for clients does not need. */
async function openServices(context: BaseContext) {
  const { openCommandServices } = await import("../src/composition/herald-services.ts");
  return openCommandServices(context);
}

const open = (folder?: string) => openCommandContext(process.env, folder);
process.exitCode = await runCommand(
  process.argv.slice(2),
  { open, openServices },
  {
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
  },
);
