import t from "tap";
import { SECOND } from "../../src/runtime/durations.ts";
import { withoutTrailing } from "../../src/runtime/without-trailing.ts";

t.test("only the occurrences at the end are removed", async (t) => {
  t.equal(withoutTrailing("https://a.example//b///", "/"), "https://a.example//b");
  t.equal(withoutTrailing("https://a.example", "/"), "https://a.example");
  t.equal(withoutTrailing("===", "="), "");
  t.equal(withoutTrailing("", "="), "");
});

t.test("a long run that is not at the end is passed in linear time", async (t) => {
  const text = `${"/".repeat(1_000_000)}a`;
  const startedAt = performance.now();
  t.equal(withoutTrailing(text, "/"), text);
  t.ok(performance.now() - startedAt < 10 * SECOND);
});
