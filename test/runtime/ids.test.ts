import t from "tap";
import { newId, newUuid } from "../../src/runtime/ids.ts";

t.test("an id consists of its prefix and 26 lower-case characters", async (t) => {
  t.match(newId("msg"), /^msg_[0-9a-hjkmnp-tv-z]{26}$/);
});

t.test("ids sort by creation time, also within a millisecond", async (t) => {
  const ids = Array.from({ length: 5_000 }, () => newId("evt"));
  t.same([...ids].sort(), ids);
  t.equal(new Set(ids).size, ids.length);
});

t.test("UUIDs have version 7 and sort by creation time, also within a millisecond", async (t) => {
  const uuids = Array.from({ length: 10_000 }, newUuid);
  t.same([...uuids].sort(), uuids);
  t.equal(new Set(uuids).size, uuids.length);
  t.ok(
    uuids.every((uuid) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(uuid)),
  );
  const time = Number.parseInt((uuids[0] as string).replace("-", "").slice(0, 12), 16);
  t.ok(Math.abs(Date.now() - time) < 60_000);
});
