import "reflect-metadata";
import { container } from "tsyringe";
import { runCommand } from "../src/commands/program.ts";
import { openCommandContext } from "../src/composition/herald.ts";

process.stdout.on("error", () => {}); // a closed pipe (herald ... | head) is not an error

const openContext = (folder?: string) => openCommandContext(container, process.env, folder);
process.exitCode = await runCommand(process.argv.slice(2), openContext, {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
});
