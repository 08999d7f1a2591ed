import t from "tap";
import { collect, eachListPage, type PlatformListPage } from "../../../src/platforms/client/list-pages.ts";
import { failedAs } from "../../fixtures/platforms/failures.ts";

const MAX_READS = 10;

/** A page with one item; `after` is the cursor of the next page, undefined at the end of the list. */
const pageOf = (id: string, after?: string | null): PlatformListPage => ({
  items: [{ id }],
  before: null,
  after: after ?? null,
  hasMore: after !== undefined,
});

/** A list whose pages are found by cursor, "" for the first; records the cursors of the reads. */
function createList(pages: Record<string, PlatformListPage>) {
  const reads: string[] = [];
  const read = async (after = "") => {
    if (reads.push(after) > MAX_READS) throw new Error("the list is read without end");
    return pages[after] as PlatformListPage;
  };
  return { read, reads };
}

async function readAll(list: ReturnType<typeof createList>): Promise<unknown[]> {
  const ids: unknown[] = [];
  for await (const { items } of eachListPage(list.read)) ids.push(...items.map(({ id }) => id));
  return ids;
}

t.test("each page of a list is read until there is no next one", async (t) => {
  const list = createList({ "": pageOf("a", "1"), 1: { ...pageOf("", "2"), items: [] }, 2: pageOf("c") });
  t.same(await readAll(list), ["a", "c"]);
  t.same(list.reads, ["", "1", "2"]);
});

t.test("a page is read only when it is asked for", async (t) => {
  const list = createList({ "": pageOf("a", "1"), 1: pageOf("b", "2"), 2: pageOf("c") });
  for await (const { items } of eachListPage(list.read)) if (items[0]?.id === "b") break;
  t.same(list.reads, ["", "1"]);
});

t.test("a missing or repeated cursor ends the reading with an error", async (t) => {
  const endless = failedAs("unusable_answer", { message: /does not end/ });
  const broken = {
    missing: () => createList({ "": pageOf("a", null) }),
    repeated: () => createList({ "": pageOf("a", "1"), 1: pageOf("b", "1") }),
    circular: () => createList({ "": pageOf("a", "1"), 1: pageOf("b", "2"), 2: pageOf("c", "1") }),
  };
  for (const [name, makeList] of Object.entries(broken)) {
    await t.rejects(readAll(makeList()), endless, name);
    const options = { from: { after: undefined, skip: 0 }, limit: 10 };
    await t.rejects(collect(makeList().read, options), endless, `${name}, in a collection`);
  }
});

t.test("a list with a new cursor on every page ends with an error too", async (t) => {
  const endless = failedAs("unusable_answer", { message: /does not end|took too long/ }); // too long on a slow machine
  const state = { pages: 0 };
  const read = async () => {
    if (state.pages++ > 100_000) throw new Error("the list is read without end");
    return pageOf("a", String(state.pages));
  };
  const readEachPage = async () => {
    for await (const _ of eachListPage(read));
  };
  await t.rejects(readEachPage(), endless);
  t.equal(state.pages, 100_000);
  state.pages = 0;
  const options = { from: { after: undefined, skip: 0 }, limit: Number.POSITIVE_INFINITY };
  await t.rejects(collect(read, options), endless, "a collection");
  t.ok(state.pages <= 1_000, `${state.pages} pages were collected`);
});
