import t from "tap";
import { jittered } from "../../src/runtime/jitter.ts";

t.test("a delay varies by a fifth in both directions, or by the given ratio", async (t) => {
  const at = (random: number, ratio?: number) => Math.round(jittered(1_000, ratio, () => random));
  t.same([at(0), at(0.5), at(1)], [800, 1_000, 1_200]);
  t.same([at(0, 1), at(0.5, 1), at(1, 1)], [0, 1_000, 2_000]);
});
