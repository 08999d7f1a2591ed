import t from "tap";
import { createWorkQueue, type QueuedCaller } from "../../../src/runtime/async/work-queue.ts";

/** A queue with one running place, and the order in which its work ran. */
async function openQueue(maxWaiting = 3) {
  const queue = createWorkQueue({ maxRunning: 1, maxWaiting, maxPerCaller: 10 });
  const order: string[] = [];
  let finish = () => {};
  const add = (name: string, by: Omit<QueuedCaller, "caller"> = {}) =>
    queue({ caller: "a", ...by }, async () => void order.push(name));
  await new Promise<void>((started) => {
    const block = () =>
      new Promise<void>((resolve) => {
        finish = resolve;
        started();
      });
    queue({ caller: "a" }, block);
  });
  return { add, order, finish: () => finish() };
}

t.test("waiting work of the reserved and the shared capacity runs in turn", async (t) => {
  const { add, order, finish } = await openQueue();
  const shared = ["shared 1", "shared 2", "shared 3"].map((name) => add(name));
  const reserved = ["reserved 1", "reserved 2"].map((name) => add(name, { capacity: "reserved" }));
  finish();
  await Promise.all([...shared, ...reserved]);
  t.same(order, ["reserved 1", "shared 1", "reserved 2", "shared 2", "shared 3"]);
});

t.test("full shared capacity leaves the reserved capacity free", async (t) => {
  const { add, finish } = await openQueue(2);
  const shared = [add("1"), add("2")];
  t.same(await add("3"), { outcome: "overloaded" });
  const reserved = add("4", { capacity: "reserved" });
  finish();
  t.match(await reserved, { outcome: "done" });
  for (const work of shared) t.match(await work, { outcome: "done" });
});

t.test("waiting work whose caller is gone is dropped and gives its place to others", async (t) => {
  const { add, order, finish } = await openQueue(2);
  const gone = new AbortController();
  const dropped = [add("1", { signal: gone.signal }), add("2", { signal: gone.signal })];
  t.same(await add("3"), { outcome: "overloaded" });
  gone.abort();
  for (const work of dropped) t.same(await work, { outcome: "cancelled" });
  const next = add("4");
  t.same(await add("5", { signal: gone.signal }), { outcome: "cancelled" });
  finish();
  t.match(await next, { outcome: "done" });
  t.same(order, ["4"]);
});

t.test("running work finishes although its caller is gone", async (t) => {
  const queue = createWorkQueue({ maxRunning: 1, maxWaiting: 1, maxPerCaller: 1 });
  const gone = new AbortController();
  const work = queue({ caller: "a", signal: gone.signal }, async () => {
    gone.abort();
    return "result";
  });
  t.same(await work, { outcome: "done", value: "result" });
  t.match(await queue({ caller: "a" }, async () => {}), { outcome: "done" }, "the place is free again");
});
