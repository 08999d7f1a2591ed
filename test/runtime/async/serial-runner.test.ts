import t from "tap";
import { createSerialRunner } from "../../../src/runtime/async/serial-runner.ts";

t.test("tasks run one after another, also after a failed one", async (t) => {
  const run = createSerialRunner();
  const order: string[] = [];
  const task = (name: string, fails = false) =>
    run(async () => {
      order.push(`${name} started`);
      await new Promise((resolve) => setImmediate(resolve));
      order.push(`${name} ended`);
      if (fails) throw new Error(name);
      return name;
    });
  const results = await Promise.allSettled([task("a"), task("b", true), task("c")]);
  t.same(order, ["a started", "a ended", "b started", "b ended", "c started", "c ended"]);
  t.match(results, [{ value: "a" }, { status: "rejected" }, { value: "c" }]);
});
