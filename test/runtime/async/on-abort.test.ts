import t from "tap";
import { onAbort } from "../../../src/runtime/async/on-abort.ts";

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
