/** Runs the test files that the driver hands over, one after the other: loading tap and the product again for each would take longer than most files run. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import t from "tap";
import { packageRoot } from "../../src/runtime/package-root.ts";
import { BETWEEN_FILES, END_OF_FILE } from "./files-in-turn.ts";

let release = (): void => {};

async function run(file: string): Promise<void> {
  const built = join(packageRoot(), "dist", file.replace(/\.ts$/, ".js"));
  await import(pathToFileURL(built).href).catch((error: unknown) =>
    t.fail("the file does not load", { error }),
  );
  release();
  t.test(END_OF_FILE, async () => {}); // begins when all tests of the file have ended
  t.test(BETWEEN_FILES, (between) => {
    between.comment("a line, so that the one before it is known to be complete");
    return new Promise<void>((resolve) => {
      release = resolve; // until then something is left to run, and tap does not end for good
    });
  });
}

process.on("message", (file) => void run(String(file)));
// tap lets the channel go, and would end between two files.
const staying = setInterval(() => {}, 60_000);
process.on("disconnect", () => {
  clearInterval(staying);
  release();
});
