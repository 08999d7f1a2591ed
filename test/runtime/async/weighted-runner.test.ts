import t from "tap";
import { createWeightedRunner } from "../../../src/runtime/async/weighted-runner.ts";

/** Records the tasks that have started; each one ends when the test calls `end`. */
function heldTasks() {
  const started: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const task = (name: string) => () => {
    started.push(name);
    return new Promise<string>((resolve, reject) =>
      ends.set(name, (error) => (error ? reject(error) : resolve(name))),
    );
  };
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const end = async (name: string, error?: Error) => {
    ends.get(name)?.(error);
    await settled();
  };
  return { started, task, end, settled };
}

t.test("tasks run together up to the weight limit, in the order of the calls", async (t) => {
  const { started, task, end, settled } = heldTasks();
  const run = createWeightedRunner(10);
  const results = Promise.all([run(6, task("a")), run(5, task("b")), run(1, task("c"))]);
  await settled();
  t.same(started, ["a"], "a light task does not overtake");
  await end("a");
  t.same(started, ["a", "b", "c"]);
  await end("b");
  await end("c");
  t.same(await results, ["a", "b", "c"]);
});

t.test("a task above the limit runs alone, and a failed task frees its weight", async (t) => {
  const { started, task, end, settled } = heldTasks();
  const run = createWeightedRunner(10);
  const heavy = run(50, task("heavy"));
  const light = run(1, task("light"));
  await settled();
  t.same(started, ["heavy"]);
  const failed = t.rejects(heavy, { message: "broken" });
  await end("heavy", new Error("broken"));
  await failed;
  t.same(started, ["heavy", "light"]);
  await end("light");
  t.equal(await light, "light");
});
