import t from "tap";
import { releaseMemory } from "../../src/runtime/release-memory.ts";

t.test("the memory of bytes is freed at once", async (t) => {
  const bytes = Buffer.allocUnsafeSlow(65_536);
  releaseMemory(bytes);
  t.equal(bytes.length, 0);
  const before = process.memoryUsage().external;
  for (let count = 0; count < 10_000; count++) releaseMemory(Buffer.allocUnsafeSlow(65_536));
  t.ok(process.memoryUsage().external - before < 100_000_000, "of 655 MB, less than 100 MB are allocated");
});

t.test("bytes that share their memory are kept", async (t) => {
  const bytes = Buffer.from("abc").subarray(1);
  releaseMemory(bytes);
  t.equal(bytes.toString(), "bc");
});
