import type { Test } from "tap";
import t from "tap";
import { ApiError } from "../../src/http/api-error.ts";
import { CsvReply, route } from "../../src/http/route.ts";
import { startIteration } from "../../src/runtime/async/iteration.ts";
import { object, Type } from "../../src/schema/types.ts";
import { startSmallApp } from "../fixtures/http/small-app.ts";
import { until } from "../fixtures/until.ts";

const CSV = "text/csv; charset=utf-8; header=present";

/** Serves /rows as JSON or as this CSV text. */
const startRows = (t: Test, text: () => AsyncGenerator<string, void, undefined>) =>
  startSmallApp(t, [
    route({
      method: "get",
      path: "/rows",
      scope: "public",
      summary: "List rows",
      errors: ["channel_disconnected"],
      reply: object({ rows: Type.Integer() }),
      csv: { example: "id\r\n1\r\n" },
      handle: async ({ wantsCsv }) => (wantsCsv ? new CsvReply(await startIteration(text())) : { rows: 2 }),
    }),
    route({
      method: "get",
      path: "/plain",
      scope: "public",
      summary: "Say whether CSV is wanted",
      reply: object({ wantsCsv: Type.Boolean() }),
      handle: ({ wantsCsv }) => ({ wantsCsv }),
    }),
  ]);

async function* threeLines() {
  yield "id\r\n";
  yield "é\r\n";
  yield "2\r\n";
}

const accepting = (accept: string) => ({ headers: { accept } });

t.test("a route with csv answers in the format that the caller prefers", async (t) => {
  const { address } = await startRows(t, threeLines);
  const CASES: [string, "json" | "csv"][] = [
    ["", "json"],
    ["*/*", "json"],
    ["application/json", "json"],
    ["application/json, text/csv", "json"],
    ["text/csv;q=0.5, */*", "json"],
    ["text/csv;q=0", "json"],
    ["text/html", "json"],
    ["text/csv", "csv"],
    ["text/csv, */*", "csv"],
    ["Text/CSV; header=present", "csv"],
    ["application/json;q=0.5, text/csv", "csv"],
  ];
  for (const [accept, format] of CASES) {
    const response = await fetch(`${address}/rows`, accepting(accept));
    t.equal(response.status, 200);
    t.equal(response.headers.get("vary"), "Accept");
    const type = format === "csv" ? CSV : "application/json; charset=utf-8";
    t.equal(response.headers.get("content-type"), type, accept);
    t.equal(await response.text(), format === "csv" ? "id\r\né\r\n2\r\n" : '{"rows":2}', accept);
  }
});

t.test("a route without csv ignores that the caller prefers CSV", async (t) => {
  const { address } = await startRows(t, threeLines);
  const response = await fetch(`${address}/plain`, accepting("text/csv"));
  t.same(await response.json(), { wantsCsv: false });
  t.equal(response.headers.get("vary"), null);
});

t.test("HEAD has the headers of the CSV reply, and ends the iteration", async (t) => {
  let isClosed = false;
  const { address } = await startRows(t, async function* () {
    try {
      yield "id\r\n";
      yield "1\r\n";
    } finally {
      isClosed = true;
    }
  });
  const response = await fetch(`${address}/rows`, { method: "HEAD", ...accepting("text/csv") });
  t.equal(response.headers.get("content-type"), CSV);
  await until("the iteration is closed", () => isClosed);
});

t.test("an error before the first text is a JSON error body", async (t) => {
  // biome-ignore lint/correctness/useYield: the generator fails before its first value
  const { address } = await startRows(t, async function* () {
    throw new ApiError("channel_disconnected", "The channel is not connected");
  });
  const response = await fetch(`${address}/rows`, accepting("text/csv"));
  t.equal(response.status, 409);
  t.equal(response.headers.get("content-type"), "application/json; charset=utf-8");
  t.equal(response.headers.get("vary"), "Accept");
  t.match(await response.json(), { error: "channel_disconnected" });
});

t.test("an error after the first text breaks the connection and is logged", async (t) => {
  const { address, lines } = await startRows(t, async function* () {
    yield "id\r\n";
    throw new Error("the platform is gone");
  });
  const response = await fetch(`${address}/rows`, accepting("text/csv"));
  t.equal(response.status, 200);
  await t.rejects(response.text(), "an ordinary end would look complete");
  const line = await until("the request is logged", () =>
    lines.find(({ event }) => event === "http.request"),
  );
  t.match(line, { route: "/rows", status: 200, error: "source_broken" });
});

t.test("a caller who disconnects ends the iteration", async (t) => {
  let isClosed = false;
  const { address, lines } = await startRows(t, async function* () {
    try {
      for (;;) yield "x".repeat(10_000);
    } finally {
      isClosed = true;
    }
  });
  const aborting = new AbortController();
  const response = await fetch(`${address}/rows`, { ...accepting("text/csv"), signal: aborting.signal });
  await response.body?.getReader().read();
  t.notOk(isClosed);
  aborting.abort();
  await until("the iteration is closed", () => isClosed);
  const line = await until("the request is logged", () =>
    lines.find(({ event }) => event === "http.request"),
  );
  t.match(line, { status: 200, error: "caller_gone" });
});
