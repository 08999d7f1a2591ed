/** Runs the test files that the driver hands over, one after the other: loading tap and the product again for each would take longer than most files run. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import t from "tap";
import { packageRoot } from "../../src/runtime/package-root.ts";
import { END_OF_FILE } from "./run-files-in-process.ts";

let startNextFile = (): void => {};

async function run(file: string): Promise<void> {
  const built = join(packageRoot(), "dist", file.replace(/\.ts$/, ".js"));
  const loaded = import(pathToFileURL(built).href);
  const fault = await loaded.then(
    () => undefined,
    (error: unknown) => error,
  );
  startNextFile();
  t.test("the file loads", async () => {
    if (fault) throw fault;
  });
  t.test(END_OF_FILE, (end) => {
    end.comment("begins when all tests of the file have ended, lasts until those of the next are there");
    return new Promise<void>((resolve) => {
      startNextFile = resolve; // without anything left to run, tap would end for good
    });
  });
}

const keepAlive = setInterval(() => {}, 60_000); // tap lets go of the channel, which would otherwise keep the process
process.on("message", (file) => void run(String(file)));
process.on("disconnect", () => {
  clearInterval(keepAlive);
  startNextFile();
});
