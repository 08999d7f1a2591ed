import t from "tap";
import { createDatabase, type Queryable } from "../../../src/store/database/database.ts";
import { includes, readSnapshot, takeMark } from "../../../src/store/events/stream-marks.ts";
import { testConfig } from "../../fixtures/processes/settings.ts";

const INSERTION = /insert into stream_generation/;

t.test("the generation of marks", async (t) => {
  const db = createDatabase({ ...(await testConfig(t)), DATABASE_POOL: 5 }, () => {});
  t.teardown(() => db.close());
  const generationOf = async (queryable: Queryable) => (await takeMark(queryable)).mark.snapshot.generation;
  /** As the recovery from a crash does. */
  const emptyTable = () => db.query("truncate stream_generation");
  /** Counts the statements; `onInserted` is called after the first insertion. */
  const watchStatements = (onInserted: () => Promise<unknown> = async () => {}) => {
    const texts: string[] = [];
    const query: Queryable["query"] = async (statement, values) => {
      const rows = await db.query(statement, values);
      const text = typeof statement === "string" ? statement : statement.text;
      if (INSERTION.test(text) && !texts.some((each) => INSERTION.test(each))) await onInserted();
      texts.push(text);
      return rows as never;
    };
    return { query, texts };
  };

  t.test("is new after the table was emptied, and costs no statement otherwise", async (t) => {
    const first = await generationOf(db);
    const watched = watchStatements();
    t.equal(await generationOf(watched), first);
    t.equal(watched.texts.length, 2);
    await emptyTable();
    const second = await generationOf(watched);
    t.not(second, first);
    t.equal(await generationOf(db), second);
  });

  t.test("is the same for processes that begin it at once", async (t) => {
    await emptyTable();
    const generations = await Promise.all(Array.from({ length: 5 }, () => generationOf(db)));
    t.equal(new Set(generations).size, 1);
  });

  t.test("is begun again when another crash follows the insertion", async (t) => {
    await emptyTable();
    const watched = watchStatements(emptyTable);
    t.equal(await generationOf(watched), await generationOf(db));
    t.equal(watched.texts.filter((text) => INSERTION.test(text)).length, 2);
  });
});

t.test("a snapshot includes another when all that was committed then is committed", async (t) => {
  const snapshot = (end: number, ...running: number[]) => ({ generation: "g", end, running });
  t.ok(includes(snapshot(12, 10), snapshot(12, 10)));
  t.ok(includes(snapshot(12), snapshot(12, 10)));
  t.ok(includes(snapshot(15, 10, 13), snapshot(12, 10)));
  t.notOk(includes(snapshot(12, 10), snapshot(12)), "10 was committed at the other one");
  t.notOk(includes(snapshot(11), snapshot(12)));
  t.notOk(includes({ ...snapshot(15), generation: "h" }, snapshot(12)), "numbers were lost in between");
  t.ok(includes(snapshot(1, 4_294_967_295), snapshot(4_294_967_290)), "after the numbers began anew");
});

t.test("a snapshot has the lower 32 bits of its transactions", async (t) => {
  t.same(readSnapshot("10:12:10,11", "g"), { generation: "g", end: 12, running: [10, 11] });
  t.same(readSnapshot("4294967295:4294967297:4294967295", "g"), {
    generation: "g",
    end: 1,
    running: [4_294_967_295],
  });
  const many = Array.from({ length: 450 }, (_, index) => 1_000 + index);
  t.same(readSnapshot(`1000:2000:${many}`, "g"), {
    generation: "g",
    end: 1_400,
    running: many.slice(0, 400),
  });
});
