import t from "tap";
import { EXCERPT_SOURCE_BYTES, excerptOf } from "../../src/delivery/answer-excerpt.ts";
import { SECOND } from "../../src/runtime/durations.ts";

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

const BACKSLASHES = `${"\\".repeat(30)}a`;
const DASHES = `${"-".repeat(24)}a`;

/** With a regular expression made of the token, all but the last two take exponential time; those are slow to search. */
const SLOW_ANSWERS: readonly (readonly [title: string, token: string, answer: string])[] = [
  ["80 backslashes", BACKSLASHES, "\\".repeat(80)],
  ["2,500 backslashes", BACKSLASHES, "\\".repeat(2_500)],
  ["80 dashes", DASHES, "-".repeat(80)],
  ["2,500 dashes", DASHES, "-".repeat(2_500)],
  ["2,500 escaped percent signs", `${"%25".repeat(80)}a`, "%25".repeat(2_500)],
  ["2,500 escaped ampersands", `${"&amp;".repeat(50)}a`, "&amp;".repeat(2_500)],
  ["escapes of all kinds", `${"-".repeat(60)}a`, "---%2d---&#45;---\\u002d---\\-".repeat(150)],
  ["an endless decimal code", DASHES, `&#${"0".repeat(4_000)}`],
  ["a token of equal characters everywhere", "-".repeat(256), `a${"-".repeat(4_000)}`],
];

for (const [title, token, answer] of SLOW_ANSWERS)
  t.test(`an answer of ${title} is searched for the token in linear time`, async (t) => {
    const startedAt = performance.now();
    excerptOf(Buffer.from(answer), token);
    t.ok(performance.now() - startedAt < 10 * SECOND);
  });

const codeOf = (character: string, radix: number) => character.charCodeAt(0).toString(radix);

const ESCAPES: Readonly<Record<string, (character: string) => string>> = {
  verbatim: (character) => character,
  "JSON strings": (character) => JSON.stringify(character).slice(1, -1),
  "JSON codes": (character) => `\\u00${codeOf(character, 16)}`,
  backslashes: (character) => `\\${character}`,
  "URL codes": (character) => `%${codeOf(character, 16).toUpperCase()}`,
  "decimal HTML codes": (character) => `&#${codeOf(character, 10)};`,
  "hexadecimal HTML codes": (character) => `&#x00${codeOf(character, 16)};`,
  "HTML names": (character) =>
    character.replace(
      /[\\&%/]/,
      (found) => ({ "\\": "&bsol;", "&": "&amp;", "%": "&percnt;" })[found] ?? "&sol;",
    ),
};

/** The letters that only follow a backslash in a code would be decoded with it. */
const isEscapable = (title: string, token: string) => title !== "backslashes" || !/[ux]/.test(token);

const TOKENS = [
  TOKEN,
  BACKSLASHES,
  DASHES,
  "abc%41\\u0041&amp;&#65;%2541-defghi",
  "\\/\\/\\/%25%25%25secret/%",
];

for (const token of TOKENS) {
  const escapes = Object.entries(ESCAPES).filter(([title]) => isEscapable(title, token));
  const redacted = (spelling: string) => excerptOf(Buffer.from(`<${spelling}>`), token);

  t.test(`the token ${token} is redacted in every escaping and every escaping of that`, async (t) => {
    for (const [inner, escapeOnce] of escapes)
      for (const [outer, escapeAgain] of escapes) {
        const once = [...token].map(escapeOnce).join("");
        const twice = [...once].map(escapeAgain).join("");
        if (isEscapable(outer, once)) t.equal(redacted(twice), "<[token]>", `${inner} in ${outer}`);
      }
  });

  t.test(`the token ${token} is redacted with another escaping for each character`, async (t) => {
    const coding = escapes.filter(([title]) => title !== "verbatim" && title !== "HTML names");
    const spelling = [...token]
      .map((character, index) => coding[index % coding.length]?.[1](character))
      .join("");
    t.equal(redacted(spelling), "<[token]>");
  });
}

t.test("a token that characters beside it turn into an escape is redacted", async (t) => {
  const token = "u0041bcdefghijklmnop%4";
  t.equal(excerptOf(Buffer.from(`\\${token}1`), token), "\\[token]1");
  t.equal(excerptOf(Buffer.from(`%5C${encodeURIComponent(token)}1`), token), "%5C[token]1");
});

t.test("text that resembles a decoded token is not redacted", async (t) => {
  t.equal(excerptOf(Buffer.from("a banana"), BACKSLASHES), "a banana");
});

t.test("an answer that is escaped more often than the search decodes is not stored", async (t) => {
  const nested = (depth: number) => Buffer.from(`%${"25".repeat(depth)}41`);
  t.type(excerptOf(nested(10), TOKEN), "string");
  t.equal(excerptOf(nested(20), TOKEN), null);
  t.type(excerptOf(nested(20), undefined), "string");
  t.equal(excerptOf(Buffer.from("an answer"), `%${"25".repeat(20)}41`), null);
});

t.test(
  "a token after another one is redacted, although the redaction moves it into the excerpt",
  async (t) => {
    const spelling = TOKEN.replace(/./g, (character) => `&#x0000000000${codeOf(character, 16)};`).repeat(20);
    t.notMatch(excerptOf(Buffer.from(spelling), TOKEN), "&#x");
  },
);
