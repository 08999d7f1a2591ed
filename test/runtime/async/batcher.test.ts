import t from "tap";
import { createBatcher } from "../../../src/runtime/async/batcher.ts";

const double = (item: number) => item * 2;

/** Records the batches; each one finishes when the test calls `release`. */
function heldBatches() {
  const batches: number[][] = [];
  const releases: (() => void)[] = [];
  const run = async (items: readonly number[]) => {
    batches.push([...items]);
    await new Promise<void>((resolve) => releases.push(resolve));
    return double;
  };
  const release = () => releases.shift()?.();
  /** Waits several event loop turns, until every batch that can start has started. */
  const settled = async () => {
    for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve));
  };
  return { batches, run, release, settled };
}

t.test("items of one event loop turn share a batch, up to the maximum", async (t) => {
  const batches: number[][] = [];
  const batcher = createBatcher<number, number>({
    maxItems: 2,
    async run(items) {
      batches.push([...items]);
      return double;
    },
  });
  t.same(await Promise.all([1, 2, 3].map(batcher.add)), [2, 4, 6]);
  t.same(batches, [[1, 2], [3]]);
  t.equal(batcher.size(), 0);
});

t.test("items added while a batch runs share the next batch", async (t) => {
  const { batches, run, release, settled } = heldBatches();
  const batcher = createBatcher<number, number>({ maxItems: 10, run });
  const first = batcher.add(1);
  await settled();
  const others = [2, 3].map(batcher.add);
  await settled();
  t.same(batches, [[1]]);
  t.equal(batcher.size(), 3);
  release();
  t.equal(await first, 2);
  await settled();
  release();
  t.same(await Promise.all(others), [4, 6]);
  t.same(batches, [[1], [2, 3]]);
});

t.test("up to maxRunningBatches run concurrently", async (t) => {
  const { batches, run, release, settled } = heldBatches();
  const batcher = createBatcher<number, number>({ maxItems: 1, maxRunningBatches: 2, run });
  const results = Promise.all([1, 2, 3].map(batcher.add));
  await settled();
  t.same(batches, [[1], [2]]);
  for (let count = 0; count < 3; count++) {
    release();
    await settled();
  }
  t.same(await results, [2, 4, 6]);
});

t.test("a batch takes items up to the maximum weight, and a heavier item forms its own batch", async (t) => {
  const batches: number[][] = [];
  const batcher = createBatcher<number, number>({
    maxItems: 10,
    maxWeight: 10,
    weightOf: (item) => item,
    async run(items) {
      batches.push([...items]);
      return double;
    },
  });
  await Promise.all([4, 5, 6, 50, 1].map(batcher.add));
  t.same(batches, [[4, 5], [6], [50], [1]]);
});

t.test("items added within the window share a batch", async (t) => {
  const batches: number[][] = [];
  const WINDOW_MS = 20;
  const batcher = createBatcher<number, number>({
    maxItems: 10,
    windowMs: WINDOW_MS,
    async run(items) {
      batches.push([...items]);
      return double;
    },
  });
  // A timer of the same duration that was set before runs right before the end of the window.
  const second = new Promise((resolve) => setTimeout(() => resolve(batcher.add(2)), WINDOW_MS));
  await Promise.all([batcher.add(1), second]);
  t.same(batches, [[1, 2]]);
});

t.test("a failed batch rejects all its items, or is retried in halves", async (t) => {
  const run = async (items: readonly number[]) => {
    if (items.includes(2)) throw new Error("two");
    return double;
  };
  const outcomes = async (shouldIsolate: boolean) => {
    const batcher = createBatcher<number, number>({ maxItems: 10, run, shouldIsolate: () => shouldIsolate });
    const settled = await Promise.allSettled([1, 2, 3].map(batcher.add));
    return settled.map((outcome) =>
      outcome.status === "fulfilled" ? outcome.value : outcome.reason.message,
    );
  };
  t.same(await outcomes(false), ["two", "two", "two"]);
  t.same(await outcomes(true), [2, "two", 6]);
});

t.test("a result that throws or rejects fails only its own item", async (t) => {
  const batcher = createBatcher<number, number>({
    maxItems: 10,
    run: async () => (item) => {
      if (item === 2) throw new Error("two");
      return item === 3 ? Promise.reject(new Error("three")) : item;
    },
  });
  const settled = await Promise.allSettled([1, 2, 3].map(batcher.add));
  t.same(
    settled.map((outcome) => (outcome.status === "fulfilled" ? outcome.value : outcome.reason.message)),
    [1, "two", "three"],
  );
});

t.test("waitUntilBelow resolves once fewer items are left", async (t) => {
  const { run, release, settled } = heldBatches();
  const batcher = createBatcher<number, number>({ maxItems: 1, run });
  const results = [1, 2].map(batcher.add);
  let isBelow = false;
  const below = batcher.waitUntilBelow(2).then(() => {
    isBelow = true;
  });
  await settled();
  t.equal(isBelow, false);
  release();
  await below;
  await settled();
  release();
  await Promise.all([...results, batcher.waitUntilBelow(1)]);
  t.equal(batcher.size(), 0);
});

t.test("a pending item can be cancelled, a running one cannot", async (t) => {
  const { batches, run, release, settled } = heldBatches();
  const batcher = createBatcher<number, number>({ maxItems: 1, run, weightOf: (item) => item });
  const first = batcher.add(1);
  void batcher.add(20);
  const third = batcher.add(300);
  await settled();
  t.equal(batcher.pendingWeight(), 320);
  t.equal(batcher.cancel(1), false, "it runs");
  t.equal(batcher.cancel(20), true);
  t.equal(batcher.cancel(20), false);
  t.equal(batcher.pendingWeight(), 300);
  release();
  await settled();
  release();
  t.same(await Promise.all([first, third]), [2, 600]);
  t.same(batches, [[1], [300]]);
  t.equal(batcher.size(), 0);
});
