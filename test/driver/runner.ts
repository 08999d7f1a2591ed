/** Runs test files from the driver in sequence: loading tap and Herald again for each would take longer than most files run. */
import asyncHooks from "node:async_hooks";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";
import { packageRoot } from "../../src/runtime/package-root.ts";
import { END_OF_FILE } from "./run-files-in-process.ts";

// tap follows every promise in order to attribute uncaught errors to tests, which takes a twentieth of the processor time.
asyncHooks.createHook = () => {
  const hook = { enable: () => hook, disable: () => hook };
  return hook;
};
syncBuiltinESMExports();
// Ends the process instead: the driver fails the file that was running, and starts another process for the next.
process.on("uncaughtException", (error) => {
  process.stderr.write(`${inspect(error)}\n`);
  process.exit(1);
});
const { default: t } = await import("tap");

let startNextFile = (): void => {};
let fileCount = 0;

async function run(file: string): Promise<void> {
  const built = join(packageRoot(), "dist", file.replace(/\.ts$/, ".js"));
  // The number makes each import run the file again: a file may be repeated in one process.
  const loaded = import(`${pathToFileURL(built).href}?${fileCount++}`);
  const fault = await loaded.then(
    () => undefined,
    (error: unknown) => error,
  );
  startNextFile();
  t.test("the file loads", async () => {
    if (fault) throw fault;
  });
  t.test(END_OF_FILE, (end) => {
    end.comment("starts after all tests of the file and ends when those of the next file are registered");
    return new Promise<void>((resolve) => {
      startNextFile = resolve; // tap would finish for good without a pending test
    });
  });
}

const keepAlive = setInterval(() => {}, 60_000); // tap unrefs the IPC channel, which would otherwise keep the process alive
process.on("message", (file) => void run(String(file)));
process.on("disconnect", () => {
  clearInterval(keepAlive);
  startNextFile();
});
