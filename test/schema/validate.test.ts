import t from "tap";
import { SECOND } from "../../src/runtime/durations.ts";
import { object, Type } from "../../src/schema/types.ts";
import { createValidator } from "../../src/schema/validate.ts";

const { json } = createValidator();

/** Takes exponential time on a run of `a` before another character. */
const SLOW_PATTERN = "^(a|a)*$";

t.test("a pattern is not evaluated on a text longer than maxLength", async (t) => {
  const check = json(object({ word: Type.String({ maxLength: 10, pattern: SLOW_PATTERN }) }));
  const startedAt = performance.now();
  t.same(check({ word: `${"a".repeat(40)}b` }), [
    { path: "/word", message: "word must have at most 10 characters" },
  ]);
  t.ok(performance.now() - startedAt < 10 * SECOND);
});

t.test("a format is not evaluated on a text longer than maxLength", async (t) => {
  const check = json(object({ email: Type.String({ maxLength: 10, format: "email" }) }));
  t.same(check({ email: "this is not an email" }), [
    { path: "/email", message: "email must have at most 10 characters" },
  ]);
});

t.test("a pattern and a format are evaluated on a text within maxLength", async (t) => {
  const text = { maxLength: 10, pattern: "^a*$" };
  const check = json(
    object({ word: Type.String(text), email: Type.String({ maxLength: 10, format: "email" }) }),
  );
  t.same(check({ word: "aab", email: "anna" }), [
    { path: "/word", message: 'word must match pattern "^a*$"' },
    { path: "/email", message: "email must be a valid email" },
  ]);
  t.same(check({ word: "aaaaaaaaaa", email: "a@b.example" }).length, 1);
});

t.test("maxLength counts characters, also to decide whether a pattern is evaluated", async (t) => {
  const check = json(object({ word: Type.String({ maxLength: 10, pattern: "^a*$" }) }));
  const emojis = (count: number) => ({ word: "\u{1f600}".repeat(count) });
  t.same(
    check(emojis(10)).map(({ message }) => message),
    ['word must match pattern "^a*$"'],
  );
  t.same(
    check(emojis(11)).map(({ message }) => message),
    ["word must have at most 10 characters"],
  );
});

t.test("all other problems of a value with an overlong text are reported", async (t) => {
  const word = Type.String({ maxLength: 10, pattern: "^a*$" });
  const check = json(object({ words: Type.Array(word), count: Type.Integer() }));
  t.same(
    check({ words: ["b".repeat(11), "b"], count: "5" }).map(({ path }) => path),
    ["/words/0", "/words/1", "/count"],
  );
});
