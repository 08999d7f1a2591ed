import t from "tap";
import { canonicalJson } from "../../../src/runtime/json/canonical-json.ts";

const textOf = (value: unknown) => [...canonicalJson(value)].join("");

t.test("canonical JSON has the fields of every object in order and is otherwise plain JSON", async (t) => {
  t.equal(textOf({ b: [1, { d: null, c: "x" }], a: {} }), '{"a":{},"b":[1,{"c":"x","d":null}]}');
  t.equal(textOf([]), "[]");
  t.equal(textOf([[], [[]], "a,b"]), '[[],[[]],"a,b"]');
  t.equal(textOf("é\n"), '"é\\n"');
  t.equal(textOf({ 'a"b': true }), '{"a\\"b":true}');
  t.equal(
    textOf({ b: [9007199254740993n], a: -9007199254740993n }),
    '{"a":-9007199254740993,"b":[9007199254740993]}',
  );
});
