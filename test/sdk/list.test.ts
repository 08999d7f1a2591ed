import { Herald } from "@herald/sdk";
import t from "tap";

interface Query {
  after?: string;
  before?: string;
  limit?: string;
}

/** A service whose list has the numbers from 0 to 9; a cursor is a position. `stuck`: it never moves. */
function listOfTen({ stuck = false } = {}) {
  const queries: Query[] = [];
  const fetch = async (url: string, { body }: RequestInit) => {
    const query: Query = body ? JSON.parse(String(body)) : Object.fromEntries(new URL(url).searchParams);
    queries.push(query);
    const limit = Number(query.limit ?? 4);
    const end = query.before === undefined ? undefined : Number(query.before);
    const from = end === undefined ? Number(query.after ?? -1) + 1 : Math.max(0, end - limit);
    const data = Array.from({ length: 10 }, (_, index) => ({ number: index })).slice(
      from,
      end ?? from + limit,
    );
    const has_more = stuck || (end === undefined ? from + limit < 10 : from > 0);
    const after = stuck ? "3" : String(from + data.length - 1);
    return Response.json({ data, paging: { cursors: { before: String(from), after }, has_more } });
  };
  return { queries, herald: new Herald({ baseUrl: "http://herald.example", apiKey: "svc_test_1", fetch }) };
}

const numbersOf = (items: readonly unknown[]) => items.map((item) => (item as { number: number }).number);

t.test("a list requests nothing until it is read, and a page only when it is needed", async (t) => {
  const { queries, herald } = listOfTen();
  const list = herald.messages.list({ status: "failed" });
  t.equal(queries.length, 0);
  t.same(numbersOf(await list.toArray({ limit: 3 })), [0, 1, 2]);
  t.same(numbersOf(await list.toArray({ limit: 0 })), []);
  t.same(queries, [{ status: "failed" }]);
  t.same(numbersOf(await list.toArray({ limit: 100 })), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  t.same(queries.slice(2), [
    { status: "failed", after: "3" },
    { status: "failed", after: "7" },
  ]);
});

t.test("a list that begins at a cursor goes on from there, in its direction", async (t) => {
  const forwards = listOfTen();
  t.same(numbersOf(await forwards.herald.messages.list({ after: "6" }).toArray({ limit: 9 })), [7, 8, 9]);
  const backwards = listOfTen();
  const pages: number[][] = [];
  for await (const { data } of backwards.herald.messages.list({ before: "6", limit: 4 }).pages())
    pages.push(numbersOf(data));
  t.same(pages, [
    [2, 3, 4, 5],
    [0, 1],
  ]);
  t.same(backwards.queries, [
    { before: "6", limit: "4" },
    { limit: "4", before: "2" },
  ]);
});

t.test("a list that is a POST has its cursor in the body", async (t) => {
  const { queries, herald } = listOfTen();
  t.equal((await herald.templates.list({ channel_id: "ch_1" }).toArray({ limit: 5 })).length, 5);
  t.same(queries, [{ channel_id: "ch_1" }, { channel_id: "ch_1", after: "3" }]);
  const { paging } = await herald.templates.list({ channel_id: "ch_1" }).page();
  t.equal(paging.cursors.after, "3");
});

t.test("a list that returns the same cursor twice is rejected instead of read for ever", async (t) => {
  const { herald } = listOfTen({ stuck: true });
  await t.rejects(herald.messages.list().toArray({ limit: 1_000 }), { code: "unexpected_response" });
});

t.test("a report whose state could not be read can be waited for again, and is created once", async (t) => {
  const methods: string[] = [];
  const fetch = async (_url: string, { method }: RequestInit) => {
    methods.push(String(method));
    if (methods.length === 2) return new Response("", { status: 401 });
    return Response.json({
      report_run_id: "1",
      async_status: "Job Completed",
      async_percent_completion: 100,
    });
  };
  const report = new Herald({ baseUrl: "http://herald.example", fetch }).insights.report({
    ad_account_id: "act_1",
  });
  await t.rejects(report.run(), { code: "unexpected_response" });
  t.match(await report.run(), { async_status: "Job Completed" });
  await report.run();
  t.same(methods, ["POST", "GET", "GET"]);
});
