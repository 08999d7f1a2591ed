import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import t from "tap";
import { SECOND } from "../../src/runtime/durations.ts";
import { sourceStack } from "../../src/runtime/errors.ts";
import { packageRoot } from "../../src/runtime/package-root.ts";

const BUILT = join(packageRoot(), "dist/bin/web.js");

t.test("a stack of a built process names the source files", async (t) => {
  const lines = readFileSync(BUILT, "utf8").split("\n");
  const line = lines.findIndex((text) => text.startsWith("function toApiError("));
  t.ok(line > 0);
  for (const file of [BUILT, pathToFileURL(BUILT).href]) {
    const mapped = sourceStack(
      `Error: no\n    at toApiError (${file}:${line + 1}:10)\n    at node:internal/x:1:2`,
    );
    t.match(
      mapped,
      /^Error: no\n {4}at toApiError \(\/.*\/src\/http\/error-reply\.ts:\d+:\d+\)\n {4}at node:internal\/x:1:2$/,
    );
  }
});

t.test("locations without a source map stay unchanged", async (t) => {
  const stack = "Error: /no/such.js:1:2\n    at x (/nowhere/at-all.js:3:4)\n    at y (file:///%zz.js:1:1)";
  t.equal(sourceStack(stack), stack);
});

t.test("a stack with a message of 300,000 slashes is searched in linear time", async (t) => {
  const stack = `Error: ${"/".repeat(300_000)}\n    at x (/nowhere/at-all.js:3:4)`;
  const startedAt = performance.now();
  t.equal(sourceStack(stack), stack);
  t.ok(performance.now() - startedAt < 10 * SECOND);
});
