import t from "tap";
import { findStorableProblem } from "../../src/schema/storable.ts";

const CASES: [what: string, value: unknown, path: string, message: string][] = [
  ["U+0000", { a: ["x", "\u0000"] }, "/a/1", "a.1 contains the character U+0000"],
  ["an unpaired surrogate", { "a/b": "\ud800" }, "/a~1b", "a/b is not well-formed Unicode"],
  [
    "a name with U+0000",
    { a: { "\u0000": 1 } },
    "/a",
    "a has a field whose name contains the character U+0000",
  ],
  ["a number that is read as Infinity", JSON.parse('{"a":[1e400]}'), "/a/0", "a.0 is too large"],
  ["a number that is read as -Infinity", JSON.parse('{"a":-1e400}'), "/a", "a is too small"],
];
for (const [what, value, path, message] of CASES)
  t.test(`${what} is a problem`, async (t) => {
    t.same(findStorableProblem(value, "the body"), { path, message });
  });

t.test("a value nested deeper than 100 levels is a problem", async (t) => {
  const nested = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels));
  t.equal(findStorableProblem(nested(100), "the body"), undefined);
  t.match(findStorableProblem(nested(101), "the body")?.message, "is nested deeper than 100 levels");
});

t.test("integers of any length, finite numbers and other texts are no problem", async (t) => {
  const value = { a: [9007199254740993n, -0, 1.5, Number.MAX_VALUE], b: "é🙂", c: null, d: true };
  t.equal(findStorableProblem(value, "the body"), undefined);
});
