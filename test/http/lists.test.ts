import t from "tap";
import { listOf, listQuery, listReply, pageOf, pageRequest } from "../../src/http/lists.ts";
import { route } from "../../src/http/route.ts";
import { Type } from "../../src/schema/types.ts";
import { callerHeaders, startApi } from "../fixtures/http/api.ts";

const NUMBERS = Array.from({ length: 7 }, (_, index) => String(7 - index));

/** Lists the numbers 7 to 1 as a store does: from a position, in one direction, up to `limit + 1` rows. */
const listRoute = (path: string) =>
  route({
    method: "get",
    path,
    scope: "any_credential",
    summary: "List numbers",
    query: listQuery({}, { maxLimit: 5, defaultLimit: 3 }),
    reply: listOf(Type.String()),
    handle({ query, cursors }) {
      const page = pageRequest(query, cursors);
      const rows = page.before
        ? NUMBERS.filter((number) => number > (page.before as string)).reverse()
        : NUMBERS.filter((number) => page.after === undefined || number < page.after);
      return listReply(
        pageOf(rows.slice(0, page.limit + 1), page, (row) => row),
        cursors,
      );
    },
  });

t.test("lists", async (t) => {
  const api = await startApi(t, { routes: () => [listRoute("/numbers"), listRoute("/others")] });
  const headers = await callerHeaders(api.db);
  const get = (query: string, path = "/numbers") => api.call("GET", path + query, { headers });

  t.test("a list can be paged forwards to its end and backwards", async (t) => {
    const first = (await get("")).body;
    t.same(first.data, ["7", "6", "5"]);
    t.equal(first.paging.has_more, true);
    const second = (await get(`?limit=5&after=${first.paging.cursors.after}`)).body;
    t.same(second.data, ["4", "3", "2", "1"]);
    t.equal(second.paging.has_more, false);
    const back = (await get(`?limit=2&before=${second.paging.cursors.before}`)).body;
    t.same(back.data, ["6", "5"]);
    t.equal(back.paging.has_more, true);
    const start = (await get(`?before=${back.paging.cursors.before}`)).body;
    t.same(start.data, ["7"]);
    t.equal(start.paging.has_more, false);
  });

  t.test("a page past the end is empty and has no cursors", async (t) => {
    const all = (await get("?limit=5")).body;
    const last = (await get(`?limit=5&after=${all.paging.cursors.after}`)).body;
    const empty = (await get(`?after=${last.paging.cursors.after}`)).body;
    t.same(empty, { data: [], paging: { cursors: { before: null, after: null }, has_more: false } });
  });

  t.test("a limit out of bounds is rejected", async (t) => {
    for (const limit of ["0", "6", "-1", "1.5", "x", ""])
      t.equal((await get(`?limit=${limit}`)).status, 400, limit);
  });

  t.test("a cursor is valid only for its client and list, and a modified cursor is rejected", async (t) => {
    const { after, before } = (await get("")).body.paging.cursors;
    const foreign = await api.call("GET", `/numbers?after=${after}`, {
      headers: await callerHeaders(api.db),
    });
    t.equal(foreign.status, 400);
    t.match(foreign.body, { error: "validation_failed", details: [{ path: "/after" }] });
    t.equal((await get(`?after=${after}`, "/others")).status, 400);
    const forged = `${Buffer.from("3").toString("base64url")}.${after.split(".")[1]}`;
    for (const bad of [
      "",
      "x",
      ".",
      forged,
      after.slice(0, -2),
      `${after}.junk`,
      after.replace(".", "==."),
      `${after}=`,
    ])
      t.equal((await get(`?after=${bad}`)).status, 400, bad);
    t.equal((await get(`?after=${after}&before=${before}`)).status, 400);
  });
});
