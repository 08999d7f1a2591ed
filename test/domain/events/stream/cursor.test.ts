import t from "tap";
import { nextRange, readCursor, writeCursor } from "../../../../src/domain/events/stream/cursor.ts";
import { HOUR } from "../../../../src/runtime/durations.ts";
import type { Mark } from "../../../../src/store/events/stream-marks.ts";
import { idAt } from "../../../fixtures/processes/retention.ts";

const NOW = 1_795_000_000_000;
const FLOOR_AGE = 11_000;

/** The mark of a number of seconds, while a transaction stays open. */
const markAt = (seconds: number, generation = "g"): Mark => {
  const at = NOW + seconds * 1_000;
  return { at, floor: at - FLOOR_AGE, snapshot: { generation, end: 100 + seconds, running: [98] } };
};

t.test("a cursor is the same after it was written and read", async (t) => {
  const [from, to, after] = [markAt(0), markAt(1), idAt("evt", NOW, 0)];
  for (const cursor of [
    { from },
    { from, to, after },
    { from: { since: NOW } },
    { from: { since: NOW }, to, after },
  ])
    t.same(readCursor(writeCursor(cursor)), cursor);
});

t.test("an earlier release and this one read each other's cursors", async (t) => {
  const [from, to, after] = [markAt(0), markAt(1), idAt("evt", NOW, 0)];
  const [fromText, toText] = [
    [NOW, FLOOR_AGE, 100, 2],
    [NOW + 1_000, FLOOR_AGE, 101, 3],
  ];
  t.same(
    JSON.parse(writeCursor({ from })),
    [fromText, null, "", "g"],
    "it reads a third element with a second only",
  );
  t.same(JSON.parse(writeCursor({ from, to, after })), [fromText, toText, after, "g"]);
  t.same(readCursor(JSON.stringify([fromText])), { from: markAt(0, "") });
  t.same(readCursor(JSON.stringify([fromText, toText, after])), {
    from: markAt(0, ""),
    to: markAt(1, ""),
    after,
  });
});

t.test("the next range begins at the mark of a cursor of this generation", async (t) => {
  const [from, to, after, latest] = [markAt(0), markAt(1), idAt("evt", NOW, 0), markAt(2)];
  t.same(nextRange({ from }, latest), { from, to: latest, after: undefined });
  t.same(
    nextRange({ from, to, after }, latest),
    { from, to, after },
    "a page that was cut is read to its end",
  );
});

t.test("after a crash the next range has all events that the reader may not have", async (t) => {
  const [from, to, latest] = [markAt(0), markAt(1), markAt(2, "h")];
  const rangeSince = (since: number) => ({ from: { since }, to: latest });
  t.same(nextRange({ from }, latest), rangeSince(from.floor));
  t.same(
    nextRange({ from: markAt(0, "") }, latest),
    rangeSince(from.floor),
    "the cursor of an earlier release",
  );
  const [early, late] = [idAt("evt", NOW - HOUR, 0), idAt("evt", NOW, 0)];
  t.same(
    nextRange({ from, to, after: late }, latest),
    rangeSince(to.floor),
    "events may be committed before the last one",
  );
  const cut = { from: { since: NOW - 2 * HOUR }, to, after: early };
  t.same(nextRange(cut, latest), rangeSince(NOW - HOUR), "those before the last one are not read again");
  t.same(
    nextRange({ from: { since: NOW } }, latest),
    { ...rangeSince(NOW), after: undefined },
    "it has no mark",
  );
  const setBack = markAt(-HOUR / 1_000, "h");
  t.same(
    nextRange({ from }, setBack),
    { from: { since: setBack.floor }, to: setBack },
    "the clock was set back too",
  );
});
