import "reflect-metadata";
import { container } from "tsyringe";
import { runCommand } from "../src/commands/program.ts";
import { openCommandContext } from "../src/composition/herald.ts";

process.stdout.on("error", () => {}); // whoever reads may stop reading

const context = openCommandContext(container, process.env);
process.exitCode = await runCommand(process.argv.slice(2), context, {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
});
await context.close();
