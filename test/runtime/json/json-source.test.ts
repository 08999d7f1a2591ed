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

const nested = (levels: number, inner = "") => `${"[".repeat(levels)}${inner}${"]".repeat(levels)}`;

t.test("a value of the limited level with too many levels is opaque, the others are read", async (t) => {
  const limits = { level: 2, maxDepth: 3 };
  const deep = `{"b" : ${nested(3, '"]",12345678901234567890')}}`;
  const root = openJson(` {"a":${deep},"c":${nested(3)},"d":[${deep}],"e":12345678901234567890} `, limits);
  const [value, list] = [root.field("a"), root.field("d")];
  t.equal(value?.text, deep);
  t.throws(() => value?.parse(), RangeError);
  t.throws(() => root.parse(), RangeError, "a value around an opaque one is not parsed");
  t.throws(() => root.parseField("a"), RangeError);
  t.equal(value?.field("b"), undefined, "an opaque value has no fields");
  t.same([list?.text, list?.items()], [`[${deep}]`, []]);
  t.same(root.parseField("c"), [[[]]]);
  t.equal(root.parseField("e"), 12345678901234567890n);
});

t.test("an opaque value is refused when JSON.parse refuses it", async (t) => {
  const isValid = (open: (text: string) => unknown, text: string) => {
    try {
      open(text);
      return true;
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return false;
    }
  };
  const parts = [
    ...[
      "",
      "1",
      "-0.5e+7",
      "01",
      "1.",
      "tru",
      "null",
      '"a"',
      '"\\u00e9\\n"',
      '"\\x"',
      '"\\u12"',
      '"\t"',
      '"a',
    ],
    ...[
      "[]",
      "{}",
      '{"a":1}',
      '{"a"}',
      '{"a":}',
      "{1:2}",
      '{"a":1,}',
      "{,}",
      "[1,]",
      "[,1]",
      "[1 2]",
      "[1:2]",
      "[}",
    ],
  ];
  const texts = parts.flatMap((one) => [one, `${one},7`, `7 ,\n${one}`, `{"a":${one},"b":[${one}]}`]);
  for (const text of texts.map((inner) => nested(3, inner)))
    t.equal(
      isValid((whole) => openJson(whole, { level: 1, maxDepth: 1 }), text),
      isValid(JSON.parse, text),
      text,
    );
  for (const text of [nested(3).slice(1), nested(3).slice(0, -1), "]".repeat(5), `${nested(3)}1`])
    t.throws(() => openJson(text, { level: 1, maxDepth: 1 }), SyntaxError, text);
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
