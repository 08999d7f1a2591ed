import t from "tap";
import { JsonText, parseJson, stringifyJson } from "../../../src/runtime/json/json.ts";

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

t.test("safe integers, fractions and strings are parsed like JSON.parse does", async (t) => {
  t.same(parseJson('{"a":9007199254740991,"b":[1000000000000000]}'), {
    a: 9007199254740991,
    b: [1000000000000000],
  });
  t.same(parseJson('{"a":": 120210000000000001"}'), { a: ": 120210000000000001" });
  const fractions = '{"a":1.2345678901234567,"b":12345678901234567.5,"c":12345678901234567e3}';
  t.same(parseJson(fractions), JSON.parse(fractions));
});

t.test("parseJson rejects every text that JSON.parse rejects", async (t) => {
  for (const text of [
    "",
    "{",
    '{"a":01234567890123456789}',
    "[1234567890123456789",
    '{"a":1234567890123456789,12345678901234567:2}',
    '{"a":120210000000000001 2}',
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
