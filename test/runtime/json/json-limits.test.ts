import t from "tap";
import { findExceededLimit, type JsonLimits } from "../../../src/runtime/json/json-limits.ts";

const find = (text: string, limits: Partial<JsonLimits>) =>
  findExceededLimit(Buffer.from(text), { maxDepth: 100, maxValues: 100, ...limits });

/** Counts the values of a parsed text; arrays and objects count. */
const countValues = (value: unknown): number =>
  typeof value === "object" && value !== null
    ? Object.values(value).reduce((sum: number, inner) => sum + countValues(inner), 1)
    : 1;

t.test("values and levels are counted as the parser would find them", async (t) => {
  const TEXTS = [
    "1",
    "{}",
    "[]",
    " [ ] ",
    '{"a":1}',
    '{"a":[],"b":{},"c":[[],[1,2]]}',
    '{"a":"],}[{,:","b":"\\"],","c\\\\":"x"}',
    '[1, "two" ,null,true, {"x" : [ 0 ] }]',
    `[${"[],".repeat(30)}[]]`,
  ];
  for (const text of TEXTS) {
    const values = countValues(JSON.parse(text));
    t.equal(find(text, { maxValues: values }), undefined, `${text} has at most ${values} values`);
    t.same(find(text, { maxValues: values - 1 }), { limit: "values" }, text);
  }
  const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
  t.equal(find(nested(100), { maxValues: 200 }), undefined);
  t.same(find(nested(101), { maxValues: 200 }), { limit: "depth" });
  t.same(find(`{"a":${nested(100)}}`, { maxValues: 200 }), { limit: "depth" });
  t.equal(find(`{"a":"${"[".repeat(200)}"}`, {}), undefined, "brackets in a string are no levels");
});

t.test("the size of a top-level field is its size as written", async (t) => {
  const limits = { maxFieldBytes: 10 };
  t.equal(find('{"a":"12345678","b":["12345"]}', limits), undefined);
  t.same(find('{"a":1,"b":"123456789"}', limits), { limit: "field", name: "b" });
  t.same(find('{"big":[1,2,3,4,5,6],"b":1}', limits), { limit: "field", name: "big" });
  t.same(find('{"a":"éééééé"}', limits), { limit: "field", name: "a" }, "bytes, not characters");
  t.same(find('{"a":{"b":{"c":1}}}', limits), { limit: "field", name: "a" }, "nested fields count together");
  t.equal(find('{"a":1,"b":2,"c":3,"d":4}', limits), undefined, "the fields together may be larger");
});

t.test("the characters of a number are counted as written", async (t) => {
  const limits = { maxNumberChars: 10 };
  const SHORT = ["1234567890", "-123456789", "-1.234e+56", ' { "a" : 1234567890 , "b" : [ -123456789 ] } '];
  for (const text of SHORT) t.equal(find(text, limits), undefined, text);
  for (const number of ["12345678901", "-1234567890", "1.234567890", "1E000000001"])
    for (const text of [number, `[${number}]`, `{"a":${number},"b":1}`, `[1,${number}\n]`])
      t.same(find(text, limits), { limit: "number" }, text);
  const TEXTS = [
    '"12345678901"',
    '{"12345678901":1}',
    "[123456,123456]",
    "[12345 12345678]",
    "aaaaaaaaaaaaaaa",
  ];
  for (const text of TEXTS) t.equal(find(text, limits), undefined, text);
  t.equal(find("9".repeat(100_000), {}), undefined, "without a limit");
});

t.test("a text that is not JSON ends the scan without an error", async (t) => {
  for (const text of ["", '"', '"\\', '{"a', "]]]]", "}{", ":::", '{"a":"\\"'])
    t.equal(find(text, { maxFieldBytes: 10 }), undefined, text);
});
