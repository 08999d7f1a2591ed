import t from "tap";
import { TEXTS } from "../../../../src/resources/embed/page/language.ts";
import {
  renderCallbackPage,
  renderEmbedPage,
  renderGonePage,
  renderUnknownPage,
} from "../../../../src/resources/embed/page/page.ts";
import { prefilledFields } from "../../../../src/resources/embed/page/prefilled.ts";

const MAX_PAGE_BYTES = 51_200;
const LANGUAGES = ["en", "pt", "es"] as const;
const HOSTILE = `</script><script>alert(1)</script><!--"'&`;

const largestSession = {
  nonce: "n0nce",
  token: "t".repeat(64),
  sessionId: `es_${"0".repeat(26)}`,
  externalRef: HOSTILE.padEnd(256, "<"),
  allowedOrigins: Array.from({ length: 20 }, (_, index) => `https://${"a".repeat(60)}${index}.example`),
  platforms: ["chatapp", "photoapp", "socialapp"] as const,
  prefill: {
    business: { name: HOSTILE.repeat(9), email: "é".repeat(9_000), website: "<".repeat(9_000) },
    phone: { displayName: "x".repeat(9_000), category: "y".repeat(9_000) },
    other: "z".repeat(9_000),
  },
};

const ALL_PAGES = LANGUAGES.flatMap((language) => {
  const options = { nonce: "n0nce", language };
  return [
    renderEmbedPage({ ...largestSession, language }),
    renderCallbackPage(options),
    renderUnknownPage(options),
    ...(["completed", "expired", "revoked"] as const).map((status) => renderGonePage({ ...options, status })),
  ];
});

t.test("page, script and style together stay below the limit in every language", async (t) => {
  for (const page of ALL_PAGES) t.ok(Buffer.byteLength(page) <= MAX_PAGE_BYTES, `${Buffer.byteLength(page)}`);
});

t.test("a page loads nothing and runs only scripts and styles with its nonce", async (t) => {
  for (const page of ALL_PAGES) {
    const openings = page.match(/<(?:script|style)[^>]*>/g) ?? [];
    const others = openings.filter((opening) => !opening.includes('nonce="n0nce"'));
    t.ok(others.every((opening) => opening === '<script type="application/json" id="data">'));
    t.notMatch(page, /<(?:link|img|iframe)\b|\son\w+="|\sstyle="|@import|url\(/);
    t.notMatch(page.replaceAll("http://www.w3.org/2000/svg", ""), /https?:\/\/(?!a{60})/);
  }
});

t.test("values from outside cannot leave their place in the page", async (t) => {
  const page = renderEmbedPage({ ...largestSession, language: "en" });
  t.equal(page.match(/<script/g)?.length, 2);
  t.notMatch(page, "alert(1)</script>");
  const [, json = ""] = /id="data">(.*?)<\/script>/s.exec(page) ?? [];
  t.match(JSON.parse(json), {
    token: largestSession.token,
    external_ref: largestSession.externalRef,
    prefilled: [{ label: "Business name", value: HOSTILE.repeat(9).slice(0, 200) }],
  });
});

t.test("each page is in its language and has one heading", async (t) => {
  for (const language of LANGUAGES) {
    const { completed, unknown, title, page } = TEXTS[language];
    const gone = renderGonePage({ nonce: "n", language, status: "completed" });
    t.match(gone, `<html lang="${language}">`);
    t.match(gone, `<title>${title}</title>`);
    t.match(gone, `<h1>${completed.heading}</h1>`);
    t.match(renderGonePage({ nonce: "n", language, status: "expired" }), page.expired.heading);
    t.match(renderGonePage({ nonce: "n", language, status: "revoked" }), page.revoked.heading);
    t.match(renderUnknownPage({ nonce: "n", language }), unknown.heading);
  }
  for (const page of ALL_PAGES) t.equal(page.match(/<h1>/g)?.length, 1);
});

t.test("only prefilled texts that a person understands are shown", async (t) => {
  const labels = TEXTS.en.prefill;
  t.same(prefilledFields({ business: { name: "Ana", id: "1" }, phone: { category: " " } }, labels), [
    { label: "Business name", value: "Ana" },
  ]);
  for (const odd of [null, undefined, "text", [], { business: null }, { business: { name: 7, email: {} } }])
    t.same(prefilledFields(odd, labels), []);
});
