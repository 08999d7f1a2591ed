import t from "tap";
import { createWatch } from "../../../src/runtime/async/watch.ts";
import { until } from "../../fixtures/until.ts";

t.test("a crowd ends in several turns of the event loop", async (t) => {
  const COUNT = 200;
  let turn = 0;
  const endsByTurn = new Map<number, number>();
  const watch = createWatch<number>({
    intervalMs: 1,
    isOver: () => true,
    end: () => endsByTurn.set(turn, (endsByTurn.get(turn) ?? 0) + 1),
  });
  let isCounting = true;
  const countTurns = () => {
    turn += 1;
    if (isCounting) setImmediate(countTurns);
  };
  countTurns();
  for (let item = 0; item < COUNT; item++) watch.add(item);
  const ended = () => [...endsByTurn.values()].reduce((sum, count) => sum + count, 0);
  await until("all have ended", () => ended() === COUNT);
  isCounting = false;
  t.ok(Math.max(...endsByTurn.values()) <= 25, "at most 25 in a turn");
  t.equal(watch.items.size, 0);
});

t.test("time in which the event loop was blocked is not counted", async (t) => {
  const counted: number[] = [];
  const watch = createWatch<string>({
    intervalMs: 10,
    isOver(_item, ms) {
      counted.push(ms);
      return true;
    },
    end() {},
  });
  watch.add("item");
  const blockedUntil = performance.now() + 200;
  while (performance.now() < blockedUntil);
  await until("it was checked", () => counted.length > 0);
  t.same(counted, [20]);
});
