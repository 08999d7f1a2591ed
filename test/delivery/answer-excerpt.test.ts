import t from "tap";
import { EXCERPT_SOURCE_BYTES, excerptOf } from "../../src/delivery/answer-excerpt.ts";

const TOKEN = "whsec_cgLiAARe4/k0Q+c6N3&<\"'x=";

t.test("the excerpt contains no token, regardless of its escaping", async (t) => {
  const coded = (code: (character: string) => string) => TOKEN.replace(/[^A-Za-z0-9_]/g, code);
  const hex = (character: string) => character.charCodeAt(0).toString(16);
  const spellings = {
    "without escaping": TOKEN,
    "in JSON": JSON.stringify(TOKEN),
    "in JSON with escaped slashes": JSON.stringify(TOKEN).replaceAll("/", "\\/"),
    "in JSON that escapes every character": coded((character) => `\\u00${hex(character)}`),
    "in a URL": encodeURIComponent(TOKEN),
    "in a lowercase URL": encodeURIComponent(TOKEN).toLowerCase(),
    "in HTML": coded((character) => `&#${character.charCodeAt(0)};`),
    "in HTML with hex": coded((character) => `&#x${hex(character).toUpperCase()};`),
    "in HTML with named entities": TOKEN.replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll('"', "&quot;"),
  };
  for (const [title, spelling] of Object.entries(spellings)) {
    const excerpt = excerptOf(Buffer.from(`{"x-webhook-token": ${spelling}}`), TOKEN);
    t.match(excerpt, "[token]", title);
    t.notMatch(excerpt, "cgLiAARe4", title);
  }
});

t.test(
  "a token that begins at the end of the excerpt is redacted, even with every character escaped",
  async (t) => {
    const token = "+".repeat(256);
    const answer = Buffer.from("x".repeat(1_020) + token.replaceAll("+", "\\u002b"));
    t.ok(answer.length <= EXCERPT_SOURCE_BYTES);
    t.equal(excerptOf(answer, token), `${"x".repeat(1_020)}[tok`);
  },
);

t.test("a token's regular expression characters are matched literally", async (t) => {
  const token = [".*+?^$", "{}()|[]\\/-aaaaaa"].join("");
  t.equal(excerptOf(Buffer.from(`a ${token} b`), token), "a [token] b");
  t.equal(excerptOf(Buffer.from("nothing of it"), token), "nothing of it");
});
