import t from "tap";
import { shuffled } from "../../src/runtime/shuffle.ts";

t.test("each order of three items results from exactly one pair of random numbers", async (t) => {
  const orders = [0, 1 / 3, 2 / 3].flatMap((first) =>
    [0, 1 / 2].map((second) => {
      const numbers = [first, second];
      return shuffled(["a", "b", "c"], () => numbers.shift() as number).join("");
    }),
  );
  t.same(orders.sort(), ["abc", "acb", "bac", "bca", "cab", "cba"]);
});

t.test("shuffled returns a copy and leaves the list unchanged", async (t) => {
  const items = [1, 2, 3, 4];
  t.same(
    shuffled(items).sort((one, other) => one - other),
    items,
  );
  t.same(items, [1, 2, 3, 4]);
});
