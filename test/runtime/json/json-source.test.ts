import t from "tap";
import { parseJson } from "../../../src/runtime/json/json.ts";
import { type JsonSource, openJson } from "../../../src/runtime/json/json-source.ts";

t.test("fields and items keep their source text", async (t) => {
  const text =
    ' { "a" : [1.0 , {"b":"}]\\"\\\\" , "c":[ ]}, "x", null,-2e400 ] , "\\u0061b": "\\ud800" , "n":12345678901234567890}\n';
  const root = openJson(text);
  const items = root.field("a")?.items() as JsonSource[];
  t.same(
    items.map((item) => item.text),
    ["1.0", '{"b":"}]\\"\\\\" , "c":[ ]}', '"x"', "null", "-2e400"],
  );
  t.equal(items[1]?.field("b")?.text, '"}]\\"\\\\"');
  t.same(items[1]?.field("c")?.items(), []);
  t.equal(root.field("ab")?.text, '"\\ud800"', "an escaped name is decoded");
  t.equal(root.field("n")?.text, "12345678901234567890");
  t.equal(root.text, text.trim());
});

t.test("a missing field is undefined, and the last of two equal names counts as in JSON.parse", async (t) => {
  const root = openJson('{"a":1,"a":{"b":2},"":[]}');
  t.equal(root.field("a")?.text, '{"b":2}');
  t.equal(root.field("b"), undefined);
  t.same(root.field("")?.items(), []);
  t.same(root.items(), []);
  for (const text of ["5", '"a"', "null", "[]", "{}"]) t.equal(openJson(text).field("a"), undefined, text);
  t.same(
    openJson("[[],[[]]]")
      .items()
      .map(({ text }) => text),
    ["[]", "[[]]"],
  );
});

t.test("openJson rejects every text that JSON.parse rejects", async (t) => {
  for (const text of ["", "{", "{'a':1}", '{"a":1,}', '"\u0000"', "01"])
    t.throws(() => openJson(text), SyntaxError, text);
});

t.test("a text nested a million levels deep is opened without recursion", async (t) => {
  const deep = "[".repeat(1_000_000) + "]".repeat(1_000_000);
  const [first, second] = openJson(`[${deep},7]`).items();
  t.equal(first?.text.length, deep.length);
  t.equal(second?.text, "7");
});

t.test("every value of a text is found, compact or indented", async (t) => {
  const value = {
    words: ['"', "\\", '\\"', "}{][", "\u2028", "\ud800", "é", ""],
    deep: [[[{}]], { a: { b: [0, -1.5e-7, true, false, null] } }],
  };
  const check = (source: JsonSource, expected: unknown): void => {
    t.same(JSON.parse(source.text), expected);
    if (Array.isArray(expected)) source.items().forEach((item, index) => void check(item, expected[index]));
    else if (typeof expected === "object" && expected !== null)
      for (const [name, inner] of Object.entries(expected)) check(source.field(name) as JsonSource, inner);
  };
  check(openJson(JSON.stringify(value)), value);
  check(openJson(JSON.stringify(value, null, 2)), value);
});

t.test("values are the same as those that parseJson returns", async (t) => {
  const exact = '{"a":[1,{"b":"1234567890123456789"}],"__proto__":7,"n":12,"n":13}';
  const long = '{"a":[1,{"b":12345678901234567890}],"n":12345678901234567890}';
  for (const text of [exact, long]) {
    const root = openJson(text);
    t.same(root.parse(), parseJson(text));
    t.same(root.field("a")?.items()[1]?.parse(), parseJson(root.field("a")?.items()[1]?.text ?? ""));
    t.same(root.parseField("n"), (parseJson(text) as { n: unknown }).n);
    t.equal(root.field("a")?.parseField("length"), undefined, "an array has no fields");
    t.equal(root.parseField("toString"), undefined, "inherited names are no fields");
  }
  t.equal(openJson(long).parseField("n"), 12345678901234567890n);
  t.throws(() => openJson(`{"n":${"9".repeat(1_000_000)}}`).parseField("n"), RangeError);
});
