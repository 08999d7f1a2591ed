import t from "tap";
import { formatInsightsCsv, type InsightsSelection } from "../../../src/domain/ads/insights-csv.ts";
import type { Fields } from "../../../src/platforms/bodies.ts";

const DATES = { date_start: "2026-09-01", date_stop: "2026-09-02" };
const DATE_CELLS = "2026-09-01,2026-09-02";

async function* pagesOf(...pages: readonly (readonly Fields[])[]) {
  yield* pages;
}

/** The lines of the file, without the CRLF of each. */
async function linesOf(
  pages: AsyncIterable<readonly Fields[]>,
  selection: InsightsSelection,
): Promise<string[]> {
  let text = "";
  for await (const part of await formatInsightsCsv(pages, selection)) text += part;
  if (!text.endsWith("\r\n")) throw new Error(`the last line has no CRLF: ${JSON.stringify(text)}`);
  return text.slice(0, -2).split("\r\n");
}

const action = (action_type: string, value: unknown, rest: object = {}) => ({ action_type, value, ...rest });

t.test("the columns are the breakdowns, the requested fields and the dates, each once", async (t) => {
  const row = { spend: "1.20", impressions: "7", age: "18-24", ...DATES, extra: "not requested" };
  const selection = { breakdowns: ["age"], fields: ["impressions", "date_start", "age", "spend", "spend"] };
  t.same(await linesOf(pagesOf([row]), selection), [
    "age,impressions,spend,date_start,date_stop",
    `18-24,7,1.20,${DATE_CELLS}`,
  ]);
});

t.test("a list field has a column per action type, in order of appearance", async (t) => {
  const rows = [
    { actions: [action("view", "3")], ...DATES },
    { spend: "5", ...DATES },
    { actions: [action("click", "1"), action("view", "2")], spend: "6", ...DATES },
  ];
  t.same(await linesOf(pagesOf(rows), { fields: ["actions", "spend"] }), [
    "actions.view,actions.click,spend,date_start,date_stop,other_actions",
    `3,,,${DATE_CELLS},`,
    `,,5,${DATE_CELLS},`,
    `2,1,6,${DATE_CELLS},`,
  ]);
});

t.test("entries that fit no column are kept whole in other_actions", async (t) => {
  const rows = [
    { actions: [action("view", "3")], ...DATES },
    { actions: [action("view", "1"), action("view", "2")], ...DATES },
    { actions: [action("view", "1", { action_device: "tablet" })], ...DATES },
    { actions: [{ value: "4" }, { action_type: "view" }, "odd"], results: [{ indicator: "x" }], ...DATES },
    { actions: "single", ...DATES },
  ];
  t.same(await linesOf(pagesOf(rows), { fields: ["actions", "results"] }), [
    "actions.view,date_start,date_stop,other_actions",
    `3,${DATE_CELLS},`,
    `1,${DATE_CELLS},"{""actions"":[{""action_type"":""view"",""value"":""2""}]}"`,
    `,${DATE_CELLS},"{""actions"":[{""action_type"":""view"",""value"":""1"",""action_device"":""tablet""}]}"`,
    `,${DATE_CELLS},"{""actions"":[{""value"":""4""},{""action_type"":""view""},""odd""],""results"":[{""indicator"":""x""}]}"`,
    `,${DATE_CELLS},"{""actions"":[""single""]}"`,
  ]);
});

t.test("an attribution window of an action type has a column of its own", async (t) => {
  const rows = [
    { actions: [action("view", "3", { "7d_click": "2", "1d_view": "1" })], ...DATES },
    { actions: [action("view", "4"), action("click", "5", { "7d_click": "5" })], ...DATES },
  ];
  t.same(await linesOf(pagesOf(rows), { fields: ["actions"] }), [
    "actions.view,actions.view.7d_click,actions.view.1d_view,actions.click,actions.click.7d_click,date_start,date_stop,other_actions",
    `3,2,1,,,${DATE_CELLS},`,
    `4,,,5,5,${DATE_CELLS},`,
  ]);
});

t.test("a window without a column is in other_actions, its type keeps the value", async (t) => {
  const first = Array.from({ length: 500 }, () => ({ actions: [action("view", "1")], ...DATES }));
  const later = [
    { actions: [action("view", "2", { "28d_click": "1" })], ...DATES },
    { actions: [action("view", "2"), action("view", "3", { "28d_click": "1" })], ...DATES },
  ];
  t.same((await linesOf(pagesOf(first, later), { fields: ["actions"] })).slice(501), [
    `2,${DATE_CELLS},"{""actions"":[{""action_type"":""view"",""28d_click"":""1""}]}"`,
    `2,${DATE_CELLS},"{""actions"":[{""action_type"":""view"",""value"":""3"",""28d_click"":""1""}]}"`,
  ]);
});

t.test("only the first 500 rows decide the columns, whatever the size of the pages", async (t) => {
  const rows: Fields[] = Array.from({ length: 502 }, () => ({ ...DATES }));
  rows[499] = { actions: [action("last", "1")], ...DATES };
  rows[500] = { actions: [action("late", "2")], ...DATES };
  for (const pageSize of [1, 300, 500, 502]) {
    const pages = Array.from({ length: Math.ceil(rows.length / pageSize) }, (_, index) =>
      rows.slice(index * pageSize, (index + 1) * pageSize),
    );
    const lines = await linesOf(pagesOf(...pages), { fields: ["actions"] });
    t.equal(lines.length, 503);
    t.equal(lines[0], "actions.last,date_start,date_stop,other_actions");
    t.equal(lines[500], `1,${DATE_CELLS},`);
    t.equal(lines[501], `,${DATE_CELLS},"{""actions"":[{""action_type"":""late"",""value"":""2""}]}"`);
  }
});

const MAX_COLUMNS = 2_000;
const namesOf = (count: number, prefix: string) =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

t.test("a file has at most 2,000 columns, and other_actions has the rest", async (t) => {
  const actions = namesOf(MAX_COLUMNS, "t").map((type, index) => action(type, String(index)));
  const rows = [{ actions, spend: "5", ...DATES }];
  const [header, line] = (await linesOf(pagesOf(rows), { fields: ["actions", "spend"] })) as [string, string];
  const columns = header.split(",");
  t.equal(columns.length, MAX_COLUMNS);
  t.same(columns.slice(-5), ["actions.t1995", "spend", "date_start", "date_stop", "other_actions"]);
  const rest = line.slice(line.indexOf(DATE_CELLS) + DATE_CELLS.length + 2, -1).replaceAll('""', '"');
  t.same(JSON.parse(rest), { actions: actions.slice(1_996) });
});

t.test("plain fields beyond 2,000 columns are in other_actions too, known or not", async (t) => {
  const names = namesOf(MAX_COLUMNS, "f");
  const row = { ...Object.fromEntries(names.map((name) => [name, "1"])), ...DATES };
  for (const selection of [{ fields: names }, {}]) {
    const [header, line] = (await linesOf(pagesOf([row]), selection)) as [string, string];
    t.equal(header.split(",").length, MAX_COLUMNS);
    t.ok(header.endsWith(",f1996,date_start,date_stop,other_actions"));
    t.ok(line.endsWith(`,1,${DATE_CELLS},"{""f1997"":[""1""],""f1998"":[""1""],""f1999"":[""1""]}"`));
  }
});

t.test("a list field is known by its name when no row has it", async (t) => {
  const fields = ["actions", "video_p25_watched_actions", "purchase_roas", "cost_per_action_type", "clicks"];
  t.same(await linesOf(pagesOf([DATES]), { fields }), [
    "clicks,date_start,date_stop,other_actions",
    `,${DATE_CELLS},`,
  ]);
  t.same(await linesOf(pagesOf(), { fields: ["clicks"] }), ["clicks,date_start,date_stop"]);
});

t.test("without known fields the columns are the keys of the rows, and later keys are kept", async (t) => {
  const first = Array.from({ length: 500 }, () => ({ clicks: "1", ...DATES, gender: "male" }));
  const later = { spend: "2", conversions: [action("buy", "1")], clicks: "3", ...DATES };
  const lines = await linesOf(pagesOf(first, [later]), {});
  t.equal(lines[0], "clicks,gender,date_start,date_stop,other_actions");
  t.equal(lines[1], `1,male,${DATE_CELLS},`);
  t.equal(
    lines[501],
    `3,,${DATE_CELLS},"{""spend"":[""2""],""conversions"":[{""action_type"":""buy"",""value"":""1""}]}"`,
  );
  t.same(await linesOf(pagesOf([]), {}), ["date_start,date_stop,other_actions"]);
});

t.test(
  "a cell that a spreadsheet would run as a formula gets an apostrophe, a number does not",
  async (t) => {
    const CASES: [string, string][] = [
      ["=1+1", "'=1+1"],
      ["+cmd", "'+cmd"],
      ["-cmd", "'-cmd"],
      ["@sum", "'@sum"],
      ["-3.5", "-3.5"],
      ["+3", "+3"],
      ["-1e-7", "-1e-7"],
      ["-3.5.1", "'-3.5.1"],
      ["-3 ", "'-3 "],
      ["-", "'-"],
      ["a=1", "a=1"],
      ["=a,b", `"'=a,b"`],
      ["\t=1+1", "'\t=1+1"],
      ["\t5", "'\t5"],
      ["\r=1+1", `"'\r=1+1"`],
    ];
    for (const [value, cell] of CASES)
      t.same(await linesOf(pagesOf([{ name: value, ...DATES }]), { fields: ["name"] }), [
        "name,date_start,date_stop",
        `${cell},${DATE_CELLS}`,
      ]);
    t.match(await linesOf(pagesOf([{ "=field": [action("x", "-5")] }]), { fields: ["=field"] }), [
      "'=field.x,date_start,date_stop,other_actions",
      "-5,,,",
    ]);
  },
);

t.test("cells are quoted as RFC 4180 demands", async (t) => {
  const csv = async (value: unknown) => {
    let text = "";
    const pages = pagesOf([{ name: value, ...DATES }]);
    for await (const part of await formatInsightsCsv(pages, { fields: ["name"] })) text += part;
    return text.slice("name,date_start,date_stop\r\n".length, -`,${DATE_CELLS}\r\n`.length);
  };
  const CASES: [unknown, string][] = [
    ['say "hi"', '"say ""hi"""'],
    ["a,b", '"a,b"'],
    ["a\nb", '"a\nb"'],
    ["a\rb", '"a\rb"'],
    ["a\r\nb", '"a\r\nb"'],
    ["Café ☕", "Café ☕"],
    ["", ""],
    [null, ""],
    [true, "true"],
    [0, "0"],
    [-2.5, "-2.5"],
    [12345678901234567890n, "12345678901234567890"],
    [{ id: 12345678901234567890n, list: [1] }, '"{""id"":12345678901234567890,""list"":[1]}"'],
  ];
  for (const [value, cell] of CASES) t.equal(await csv(value), cell);
});

t.test("names of built-in properties are ordinary fields", async (t) => {
  const row = JSON.parse('{"__proto__":"p","actions":[{"action_type":"constructor","value":"1"}]}');
  t.same(await linesOf(pagesOf([row]), { fields: ["constructor", "__proto__", "actions"] }), [
    "constructor,__proto__,actions.constructor,date_start,date_stop,other_actions",
    ",p,1,,,",
  ]);
});

t.test("an error rejects before the header, and ends the iteration after it", async (t) => {
  async function* failingAfter(rows: number) {
    yield Array.from({ length: rows }, () => DATES);
    throw new Error("no second page");
  }
  await t.rejects(formatInsightsCsv(failingAfter(499), {}), /no second page/);
  const csv = await formatInsightsCsv(failingAfter(500), { fields: [] });
  t.match(await csv.next(), { value: "date_start,date_stop\r\n" });
  t.match(await csv.next(), { value: /^2026-09-01/ });
  await t.rejects(csv.next(), /no second page/);
});

t.test("pages are read only as the text is consumed, and the source is closed with the text", async (t) => {
  const state = { pages: 0, isClosed: false };
  async function* endlessPages() {
    try {
      for (;;) {
        state.pages += 1;
        yield Array.from({ length: 500 }, () => DATES);
      }
    } finally {
      state.isClosed = true;
    }
  }
  const csv = await formatInsightsCsv(endlessPages(), {});
  t.equal(state.pages, 1);
  for (let parts = 0; parts < 3; parts += 1) await csv.next();
  t.equal(state.pages, 2);
  await csv.return?.();
  t.ok(state.isClosed);
});

t.test("a wide page is formatted in slices", async (t) => {
  const actions = Array.from({ length: 1_000 }, (_, index) => action(`type_${index}`, "1"));
  const rows = Array.from({ length: 300 }, () => ({ actions, ...DATES })); // far more than a fast machine formats in three slices
  const csv = await formatInsightsCsv(pagesOf(rows), { fields: ["actions"] });
  await csv.next();
  let turns = 0;
  const count = () => {
    turns += 1;
    turning = setImmediate(count);
  };
  let turning = setImmediate(count);
  for await (const _ of csv);
  clearImmediate(turning);
  t.ok(turns >= 3, `the event loop turned ${turns} times`);
});
