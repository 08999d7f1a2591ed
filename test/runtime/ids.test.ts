import t from "tap";
import { HOUR } from "../../src/runtime/durations.ts";
import {
  createUlids,
  decodeTime,
  encodeTime,
  newId,
  newUuid,
  setIdClockOffset,
} from "../../src/runtime/ids.ts";

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

t.test("a time is encoded as in the ULID specification, and decoded", async (t) => {
  for (const [time, text] of [
    [0, "0000000000"],
    [1_469_922_850_259, "01arz3ndek"],
    [2 ** 48 - 1, "7zzzzzzzzz"],
  ] as const) {
    t.equal(encodeTime(time), text);
    t.equal(decodeTime(text), time);
    t.equal(decodeTime(`${text}tsv4rrffq69g5fav`), time);
  }
});

t.test("a time that an id cannot have and a text without a time are errors", async (t) => {
  for (const time of [-1, 2 ** 48, 1.5, Number.NaN]) t.throws(() => encodeTime(time), RangeError);
  for (const text of ["", "01arz3nde", "01ARZ3NDEK", "01arz3ndeu"])
    t.throws(() => decodeTime(text), RangeError);
});

t.test("ids ascend within a millisecond and when the clock is set back", async (t) => {
  const times = [1_000, 1_000, 1_001, 5, 1_001, 1_002];
  const next = createUlids(() => times.shift() as number);
  const ids = Array.from({ length: 6 }, next);
  t.same(ids.map(decodeTime), [1_000, 1_000, 1_001, 1_001, 1_001, 1_002]);
  t.same([...ids].sort(), ids);
  t.equal(new Set(ids).size, ids.length);
});

t.test("an id follows the clock when it was set back by more than clocks may differ", async (t) => {
  const times = [100_000, 95_000, 94_999, 94_998];
  const next = createUlids(() => times.shift() as number);
  t.same(Array.from({ length: 4 }, next).map(decodeTime), [100_000, 100_000, 94_999, 94_999]);
});

t.test("ids take their time from the clock that they are given", async (t) => {
  t.teardown(() => setIdClockOffset(0));
  for (const offset of [-HOUR, HOUR]) {
    setIdClockOffset(offset);
    const before = Date.now() + offset;
    const time = decodeTime(newId("evt").slice("evt_".length));
    t.ok(time >= before && time <= Date.now() + offset);
  }
});

t.test("more ids in a millisecond than their last digits can count continue in the next one", async (t) => {
  const next = createUlids(() => 1_000);
  let [previous, isAscending] = ["", true];
  for (let made = 0; made < 2 ** 20; made++) {
    const id = next();
    isAscending &&= id > previous;
    previous = id;
  }
  t.ok(isAscending);
  t.equal(decodeTime(previous), 1_001);
});

t.test("ids of different processes differ", async (t) => {
  const ids = Array.from({ length: 100 }, () => createUlids(() => 1_000)());
  t.equal(new Set(ids.map((id) => id.slice(10, 22))).size, ids.length);
});
