import t from "tap";
import { jittered, onAbort } from "../../../src/runtime/async/timeouts-and-retries.ts";

t.test("a delay varies by a fifth in both directions, or by the given ratio", async (t) => {
  const at = (random: number, ratio?: number) => Math.round(jittered(1_000, ratio, () => random));
  t.same([at(0), at(0.5), at(1)], [800, 1_000, 1_200]);
  t.same([at(0, 1), at(0.5, 1), at(1, 1)], [0, 1_000, 2_000]);
});

t.test("every callback that was not cancelled is called once, by a single listener", async (t) => {
  const controller = new AbortController();
  let listeners = 0;
  const add = controller.signal.addEventListener.bind(controller.signal);
  controller.signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners += 1;
    add(...args);
  };
  const called: string[] = [];
  onAbort(controller.signal, () => called.push("one"));
  const cancel = onAbort(controller.signal, () => called.push("two"));
  onAbort(controller.signal, () => called.push("three"));
  cancel();
  controller.abort();
  t.same(called, ["one", "three"]);
  t.equal(listeners, 1);
});
