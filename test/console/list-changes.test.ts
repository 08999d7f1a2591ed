import t from "tap";
import { changesBetween, withChanges } from "../../src/console/screens/list-changes.ts";

interface Row {
  id: string;
  status?: string;
}

const idOf = ({ id }: Row) => id;

/** A page with a row for each letter. */
const page = (ids: string, hasMore = false) => ({
  data: [...ids].map((id): Row => ({ id })),
  paging: { cursors: { before: null, after: null }, has_more: hasMore },
});

t.test("new rows are counted, and other changes noticed", async (t) => {
  const rows: [shown: string, fresh: string, hasMore: boolean, newCount: number, hasChanged: boolean][] = [
    ["cba", "cba", false, 0, false],
    ["cba", "edcba", false, 2, false],
    ["cba", "edc", true, 2, false], // the others moved to the next page
    ["cba", "fed", true, 3, false], // all did
    ["cba", "ca", false, 0, true],
    ["cba", "dca", false, 1, true],
    ["cba", "cb", false, 0, true],
    ["cba", "", false, 0, true],
    ["ca", "cba", false, 0, true],
    ["", "ba", false, 2, false],
  ];
  for (const [shown, fresh, hasMore, newCount, hasChanged] of rows) {
    const changes = changesBetween(page(shown), page(fresh, hasMore), idOf);
    t.same(changes, { newCount, hasChanged }, `${shown} -> ${fresh}${hasMore ? " and more" : ""}`);
  }
});

t.test("a page has no changes before the server was asked again", async (t) => {
  const shown = page("ba");
  for (const [former, fresh] of [
    [undefined, undefined],
    [shown, undefined],
    [undefined, shown],
    [shown, shown],
  ])
    t.same(changesBetween(former, fresh, idOf), { newCount: 0, hasChanged: false });
});

t.test("shown rows change in their places, and no row comes or goes", async (t) => {
  const fresh = { ...page("dc"), data: [{ id: "d" }, { id: "b", status: "delivered" }] };
  t.same(withChanges(page("cba"), fresh, idOf).data, [
    { id: "c" },
    { id: "b", status: "delivered" },
    { id: "a" },
  ]);
});
