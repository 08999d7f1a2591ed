import t from "tap";
import { collectInSlices, nextSlice } from "../../../src/runtime/async/time-slices.ts";

/** Occupies the event loop. */
function work(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

function* slowItems(count: number): Generator<number> {
  for (let item = 0; item < count; item++) {
    work(2);
    yield item;
  }
}

t.test("long work lets other work run in between and keeps its order", async (t) => {
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  const items = await collectInSlices(slowItems(100));
  clearInterval(timer);
  t.same(items, [...Array(100).keys()]);
  t.ok(turns >= 5, `${turns} turns of other work`);
});

t.test("short work ends without waiting for the event loop", async (t) => {
  const { now } = performance;
  t.teardown(() => {
    performance.now = now;
  });
  performance.now = () => 0; // an interruption of the process would make the work long
  let hasTurned = false;
  setImmediate(() => (hasTurned = true));
  t.same(await collectInSlices([1, 2, 3]), [1, 2, 3]);
  t.equal(hasTurned, false);
});

t.test("each turn of the event loop has one slice, regardless of the number of callers", async (t) => {
  let turn = 0;
  let isCounting = true;
  const count = () => {
    turn += 1;
    if (isCounting) setImmediate(count);
  };
  setImmediate(count);
  const turns = await Promise.all(Array.from({ length: 5 }, () => nextSlice().then(() => turn)));
  isCounting = false;
  t.equal(new Set(turns).size, 5, turns.join(" "));
});
