import t from "tap";
import { createEventQueue, createRepeatFilter } from "../../../src/commands/listening/event-queue.ts";

interface TestEvent {
  name: string;
  lane: string;
}

/** A queue whose events are handled when the test says so. */
function makeQueue(concurrency: number) {
  const inProgress = new Map<string, (isHandled: boolean) => void>();
  const cursors: string[] = [];
  const stop = new AbortController();
  const queue = createEventQueue<TestEvent>({
    concurrency,
    laneOf: ({ lane }) => lane,
    handle: ({ name }) => new Promise((resolve) => inProgress.set(name, resolve)),
    signal: stop.signal,
    onProgress: (cursor) => void cursors.push(cursor),
  });
  const finish = async (name: string, isHandled = true) => {
    inProgress.get(name)?.(isHandled);
    inProgress.delete(name);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { queue, cursors, stop, finish, running: () => [...inProgress.keys()] };
}

t.test("events of a lane are handled in order, those of other lanes beside them", async (t) => {
  const { queue, finish, running } = makeQueue(2);
  for (const name of ["a1", "a2", "b1", "c1"])
    await queue.add(`c-${name}`, { name, lane: name[0] as string });
  t.same(running(), ["a1", "b1"]);
  await finish("b1");
  t.same(running(), ["a1", "c1"], "a2 waits for a1");
  await finish("a1");
  t.same(running(), ["c1", "a2"]);
});

t.test("the cursor moves on only when every event before it is handled", async (t) => {
  const { queue, cursors, finish } = makeQueue(3);
  await queue.add("start");
  for (const name of ["a", "b", "c"]) await queue.add(`c-${name}`, { name, lane: name });
  await queue.add("ping-1");
  await queue.add("ping-2");
  t.same(cursors, ["start"]);
  await finish("b");
  t.same(cursors, ["start"], "a is not handled yet");
  await finish("a");
  t.same(cursors, ["start", "c-b"]);
  await finish("c");
  t.same(cursors, ["start", "c-b", "ping-2"], "a cursor without an event follows");
});

t.test("an event that the end of the run prevents keeps the cursor before it", async (t) => {
  const { queue, cursors, stop, finish, running } = makeQueue(1);
  await queue.add("c-1", { name: "a", lane: "a" });
  await queue.add("c-2", { name: "b", lane: "b" });
  stop.abort();
  await finish("a", false);
  await queue.idle();
  t.same(cursors, []);
  t.same(running(), [], "b is not begun");
});

t.test("at most 100 events wait in memory", async (t) => {
  const { queue, stop, finish } = makeQueue(1);
  let added = 0;
  const adding = (async () => {
    for (; added < 150; added++) await queue.add(`c-${added}`, { name: String(added), lane: "a" });
  })();
  await finish("none");
  t.equal(added, 99, "the 100th is added and not answered");
  await finish("0");
  t.equal(added, 100);
  stop.abort();
  await finish("1", false);
  await adding;
  t.equal(added, 150, "nothing waits once the run ends");
});

t.test("a repeated id is recognised among the latest 10,000", async (t) => {
  const isRepeated = createRepeatFilter();
  t.notOk(isRepeated("first"));
  t.ok(isRepeated("first"));
  for (let id = 0; id < 10_000; id++) isRepeated(String(id));
  t.notOk(isRepeated("first"), "it is forgotten");
});
