import t from "tap";
import { startIteration } from "../../../src/runtime/async/iteration.ts";

/** Yields the values and records whether it was closed; an Error is thrown. */
function createSource(values: readonly (number | Error)[]) {
  const state = { taken: 0, isClosed: false };
  async function* generate() {
    try {
      for (const value of values) {
        state.taken += 1;
        if (value instanceof Error) throw value;
        yield value;
      }
    } finally {
      state.isClosed = true;
    }
  }
  return { state, generator: generate() };
}

t.test("a started iteration has read one value and yields all of them", async (t) => {
  const { state, generator } = createSource([1, 2, 3]);
  const started = await startIteration(generator);
  t.equal(state.taken, 1);
  const values: number[] = [];
  for await (const value of started) values.push(value);
  t.same(values, [1, 2, 3]);
});

t.test("an error before the first value rejects the start, a later one the iteration", async (t) => {
  await t.rejects(startIteration(createSource([new Error("early")]).generator), /early/);
  const started = await startIteration(createSource([1, new Error("late")]).generator);
  t.same(await started.next(), { value: 1, done: false });
  await t.rejects(started.next(), /late/);
});

t.test("a started iteration that ends before its first value was taken closes the generator", async (t) => {
  const { state, generator } = createSource([1, 2]);
  const started = await startIteration(generator);
  await started.return?.();
  t.ok(state.isClosed);
  t.match(await started.next(), { done: true });
});
