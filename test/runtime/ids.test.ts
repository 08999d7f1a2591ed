import t from "tap";
import { newId } from "../../src/runtime/ids.ts";

t.test("an id is its prefix and 26 lower-case characters", async (t) => {
  t.match(newId("msg"), /^msg_[0-9a-hjkmnp-tv-z]{26}$/);
});

t.test("ids sort by the time of their making, also within a millisecond", async (t) => {
  const ids = Array.from({ length: 5_000 }, () => newId("evt"));
  t.same([...ids].sort(), ids);
  t.equal(new Set(ids).size, ids.length);
});
