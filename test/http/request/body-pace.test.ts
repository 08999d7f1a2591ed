import t from "tap";
import { createBodyPace } from "../../../src/http/request/body-pace.ts";

const MIB = 1_048_576;

t.test("a burst is read at once, and continuous bodies at a limited rate", async (t) => {
  let now = 0;
  const pace = createBodyPace(() => now);
  for (let read = 0; read < 10; read++) t.equal(pace.delayAfter(MIB), 0, "one large body is not delayed");
  const delay = pace.delayAfter(MIB);
  t.ok(delay > 45 && delay < 55, "a further megabyte waits for its time at 20 MiB per second");
  let readBytes = 0;
  for (; now < 10_000; readBytes += 65_536) now += pace.delayAfter(65_536);
  t.ok(readBytes > 180 * MIB && readBytes < 220 * MIB, `${readBytes / MIB} MiB in 10 seconds`);
  now += 60_000;
  t.equal(pace.delayAfter(10 * MIB), 0, "a pause allows one more burst");
  t.ok(pace.delayAfter(MIB) > 0, "and not several");
});
