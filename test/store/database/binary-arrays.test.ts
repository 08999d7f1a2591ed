import t from "tap";
import { textArray, timestampArray, uuidArray } from "../../../src/store/database/binary-arrays.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { testConfig } from "../../fixtures/processes/settings.ts";

t.test("Postgres reads binary arrays as the values they were made from", async (t) => {
  const db = createDatabase(await testConfig(t), () => {});
  t.teardown(() => db.close());
  const read = async (type: string, array: Buffer) =>
    (await db.query<{ value: unknown }>(`select unnest($1::${type}[]) as value`, [array])).map(
      ({ value }) => value,
    );
  const texts = ["", "a", null, 'quoted "x" \\ {,}', "é€😀", "line\nbreak", "x".repeat(100_000)];
  t.same(await read("text", textArray(texts)), texts);
  t.same(await read("text", textArray(["\ud800"])), ["\ufffd"], "a lone surrogate is replaced");
  const uuid = "01234567-89ab-cdef-0123-456789abcdef";
  t.same(await read("uuid", uuidArray([uuid, null, uuid.replaceAll("-", "")])), [uuid, null, uuid]);
  const dates = [
    new Date("2026-11-16T12:34:56.789Z"),
    null,
    new Date(0),
    new Date("9999-12-31T23:59:59.999Z"),
  ];
  t.same(await read("timestamptz", timestampArray(dates)), dates);
  for (const [type, array] of Object.entries({
    text: textArray([]),
    uuid: uuidArray([]),
    timestamptz: timestampArray([]),
  }))
    t.same(await read(type, array), [], type);
});
