import t from "tap";
import {
  canonicalJson,
  JsonText,
  MAX_NUMBER_CHARS,
  parseJson,
  stringifyJson,
} from "../../../src/runtime/json/json.ts";

t.test("parsing and stringifying keeps integers beyond 2^53 at any place", async (t) => {
  const texts = [
    "9007199254740993",
    "-9007199254740993",
    '{"id":120210000000000001,"list":[ 18446744073709551615,{"deep":-120210000000000001}]}',
    '{"text":"said: 120210000000000001, \\"x\\": 120210000000000001","n":120210000000000001}',
    '{"a":1.5,"b":1e21,"c":0.1234567890123456789,"d":12345678901234567890}',
  ];
  for (const text of texts) {
    const again = stringifyJson(parseJson(text));
    t.equal(again, stringifyJson(parseJson(again)));
    for (const digits of text.match(/(?<![\d.])\d{18,}(?![\d.])/g) ?? []) t.match(again, digits);
  }
  t.same(parseJson("[9007199254740993]"), [9007199254740993n]);
});

t.test("an integer becomes a bigint from 2^53 on, in both directions", async (t) => {
  const CASES: [text: string, expected: unknown][] = [
    ["9007199254740991", 9007199254740991],
    ["9007199254740992", 9007199254740992n],
    ["9007199254740993", 9007199254740993n],
    ["-9007199254740991", -9007199254740991],
    ["-9007199254740992", -9007199254740992n],
    ["-9007199254740993", -9007199254740993n],
    ["1000000000000000", 1000000000000000],
    ["999999999999999", 999999999999999],
    ["10000000000000000", 10000000000000000n],
  ];
  for (const [text, expected] of CASES) {
    t.equal(parseJson(text), expected, text);
    t.same(parseJson(` [ ${text} ,\n{ "a" :\t${text}\r}]`), [expected, { a: expected }], text);
    t.equal(stringifyJson(parseJson(text)), text);
  }
});

t.test("numbers that are not long integers are parsed like JSON.parse does", async (t) => {
  const TEXTS = [
    "1234567890.123456",
    "1.2345678901234567",
    "12345678901234567.5",
    "0.1234567890123456",
    "-12345678901234567890.5",
    "12345678901234567e3",
    "1E0000000000000000",
    "1e-12345678901234567890",
    "123456789012345678.0E+2",
    "1e400",
    "-1e400",
    "-0",
    "0",
  ];
  for (const text of TEXTS) {
    t.equal(parseJson(text), JSON.parse(text), text);
    const list = `[9007199254740993,${text},{"a":${text}}]`;
    t.same(parseJson(list), [9007199254740993n, JSON.parse(text), { a: JSON.parse(text) }], list);
  }
});

t.test("digits in strings and in names of fields stay text", async (t) => {
  const digits = "12345678901234567";
  const texts = {
    [digits]: digits,
    list: [`:${digits}`, `"${digits}`, `\\", ${digits}`, "\\", `-${digits}`],
  };
  const json = `[${JSON.stringify(texts)},${digits}]`;
  t.same(parseJson(json), [texts, BigInt(digits)]);
  t.equal(stringifyJson(parseJson(json)), json);
});

t.test("names such as __proto__ stay plain fields, and the last of two equal names counts", async (t) => {
  const parsed = parseJson('{"__proto__":12345678901234567,"a":1,"a":-12345678901234567}');
  t.same(Object.entries(parsed as object), [
    ["__proto__", 12345678901234567n],
    ["a", -12345678901234567n],
  ]);
});

t.test("an integer has at most 100 characters", async (t) => {
  t.equal(MAX_NUMBER_CHARS, 100);
  const longest = `-${"9".repeat(99)}`;
  t.equal(stringifyJson(parseJson(longest)), longest);
  for (const digits of [101, 4_000_000]) t.throws(() => parseJson(`[${"9".repeat(digits)}]`), RangeError);
  const fraction = `0.${"9".repeat(1_000)}`;
  t.same(parseJson(`[${fraction},9007199254740993]`), [1, 9007199254740993n], "a fraction may be longer");
});

t.test("parseJson rejects every text that JSON.parse rejects", async (t) => {
  for (const text of [
    "",
    "{",
    '{"a":01234567890123456789}',
    "[1234567890123456789",
    '{"a":1234567890123456789,12345678901234567:2}',
    '{"a":120210000000000001 2}',
    "-",
    "[-,1234567890123456789]",
    "[+1234567890123456789]",
    "[1234567890123456789.]",
    "[1234567890123456789e]",
    "{1234567890123456789:1}",
  ])
    t.throws(() => parseJson(text), SyntaxError, text);
});

t.test("a text of 12 MB with one long integer is parsed", async (t) => {
  const long = "x".repeat(12_000_000);
  const { text, id } = parseJson(`{"text":"${long}\\n","id":120210000000000001}`) as {
    text: string;
    id: bigint;
  };
  t.equal(text.length, long.length + 1);
  t.equal(id, 120210000000000001n);
});

t.test("a string of 5 million escapes beside a long integer is parsed", async (t) => {
  const [text, id] = parseJson(`["${'\\"'.repeat(5_000_000)}",120210000000000001]`) as [string, bigint];
  t.equal(text.length, 5_000_000);
  t.equal(id, 120210000000000001n);
});

t.test("an unterminated string is rejected in linear time", async (t) => {
  const began = Date.now();
  t.throws(() => parseJson(`[1234567890123456,"${'\\"'.repeat(200_000)}`), SyntaxError);
  t.ok(Date.now() - began < 10_000, "restarting the search at every quote takes minutes");
});

t.test("stringifyJson inserts a JsonText unchanged", async (t) => {
  const deep = `${"[".repeat(100_000)}1.0${"]".repeat(100_000)}`;
  const value = { id: 1, list: [new JsonText('{"n": 1.10}'), 120210000000000001n], deep: new JsonText(deep) };
  t.equal(stringifyJson(value), `{"id":1,"list":[{"n": 1.10},120210000000000001],"deep":${deep}}`);
  t.equal(stringifyJson(new JsonText("null")), "null");
});

t.test("stringifyJson writes every value beside a bigint like JSON.stringify does", async (t) => {
  const VALUES = [
    { a: undefined, b: [undefined, null], c: new Date(0), d: Number.NaN, e: true, f: '\u2028\ud800"' },
    { toJSON: 1, __proto__: null, 10: "b", 2: "a", "\n": {}, list: [] },
    { a: { toJSON: () => undefined }, b: { toJSON: () => ({ c: 1 }) } },
    [[], {}, [{ a: undefined }], new Map([[1, 2]])],
    {},
    [],
    -0,
  ];
  for (const value of VALUES) {
    const expected = JSON.stringify(value);
    t.equal(stringifyJson([value, 1n]), `[${expected},1]`);
    t.equal(stringifyJson({ value, n: 1n }), `{"value":${expected},"n":1}`);
  }
});

const canonicalText = (value: unknown) => [...canonicalJson(value)].join("");

t.test("canonical JSON has the fields of every object in order and is otherwise plain JSON", async (t) => {
  t.equal(canonicalText({ b: [1, { d: null, c: "x" }], a: {} }), '{"a":{},"b":[1,{"c":"x","d":null}]}');
  t.equal(canonicalText([]), "[]");
  t.equal(canonicalText([[], [[]], "a,b"]), '[[],[[]],"a,b"]');
  t.equal(canonicalText("é\n"), '"é\\n"');
  t.equal(canonicalText({ 'a"b': true }), '{"a\\"b":true}');
  t.equal(
    canonicalText({ b: [9007199254740993n], a: -9007199254740993n }),
    '{"a":-9007199254740993,"b":[9007199254740993]}',
  );
});
