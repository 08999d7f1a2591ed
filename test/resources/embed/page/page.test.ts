import t from "tap";
import {
  languageOf,
  prefilledFields,
  renderCallbackPage,
  renderEmbedPage,
  renderGonePage,
  renderUnknownPage,
  TEXTS,
} from "../../../../src/resources/embed/page/page.ts";

const MAX_PAGE_BYTES = 51_200;
const LANGUAGES = ["en", "pt", "es"] as const;
const SCHEMES = ["light", "dark", "system", "host"] as const;
const OPTIONS = {
  nonce: "n0nce",
  language: "en",
  appearance: { scheme: "system", accentColor: "#7a1f5c" },
} as const;
const HOSTILE = `</script><script>alert(1)</script><!--"'&`;

const largestSession = {
  ...OPTIONS,
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
  const options = { ...OPTIONS, language };
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

const EMPTY_ICON = '<link rel="icon" href="data:,">';

t.test("a page loads nothing and runs only scripts and styles with its nonce", async (t) => {
  for (const page of ALL_PAGES) {
    const openings = page.match(/<(?:script|style)[^>]*>/g) ?? [];
    const others = openings.filter((opening) => !opening.includes('nonce="n0nce"'));
    t.ok(others.every((opening) => opening === '<script type="application/json" id="data">'));
    t.match(page, EMPTY_ICON, "a browser does not ask for /favicon.ico");
    t.notMatch(page.replace(EMPTY_ICON, ""), /<(?:link|img|iframe)\b|\son\w+="|\sstyle="|@import|url\(/);
    t.notMatch(page.replaceAll("http://www.w3.org/2000/svg", ""), /https?:\/\/(?!a{60})/);
  }
});

t.test("values from outside cannot leave their place in the page", async (t) => {
  const page = renderEmbedPage(largestSession);
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
    const options = { ...OPTIONS, language };
    const gone = renderGonePage({ ...options, status: "completed" });
    t.match(gone, `<html lang="${language}" `);
    t.match(gone, `<title>${title}</title>`);
    t.match(gone, `<h1>${completed.heading}</h1>`);
    t.match(renderGonePage({ ...options, status: "expired" }), page.expired.heading);
    t.match(renderGonePage({ ...options, status: "revoked" }), page.revoked.heading);
    t.match(renderUnknownPage(options), unknown.heading);
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

t.test("the page speaks the offered language that the browser prefers", async (t) => {
  const expected: Record<string, string> = {
    "pt-BR,pt;q=0.9,en-US;q=0.8": "pt",
    "de-DE,de;q=0.9,es;q=0.5,en;q=0.4": "es",
    "en;q=0.1, es-419;q=0.2": "es",
    ES: "es",
    fr: "en",
    "*": "en",
    "pt;q=0, es;q=0": "en",
    "pt;q=x, es;q=0.1": "es",
    "": "en",
    ";,;q=,": "en",
    [`${"pt;q=0.1,".repeat(1_000)}es`]: "es",
  };
  for (const [header, language] of Object.entries(expected))
    t.equal(languageOf("auto", header), language, header);
  t.equal(languageOf("auto", undefined), "en");
  t.equal(languageOf("es", "pt"), "es", "the locale of the session comes first");
});

t.test("the style has the dark colours where the scheme needs them, and the accent colour", async (t) => {
  const darkMedia = { light: "not all", dark: "all", system: "(prefers-color-scheme:dark)", host: "not all" };
  const colorScheme = { light: "light", dark: "dark", system: "light dark", host: "light" };
  for (const scheme of SCHEMES) {
    const page = renderUnknownPage({ ...OPTIONS, appearance: { scheme, accentColor: "#7a1f5c" } });
    t.match(page, `<html lang="en" data-scheme="${scheme}">`);
    t.match(page, `<meta name="color-scheme" content="${colorScheme[scheme]}">`);
    const media = [...page.matchAll(/@media ?([^{]*)\{:root/g)].map(([, query]) => query);
    t.same(media, [darkMedia[scheme], darkMedia[scheme]], "the colours and the accent colour");
    t.match(page, ":root{--accent:#7a1f5c}");
  }
  const plain = renderUnknownPage({ ...OPTIONS, appearance: { scheme: "light", accentColor: null } });
  t.notMatch(plain, "--accent:#7a1f5c");
});

/** The texts of one language by their paths. */
const textsByPath = (value: object, path = ""): [string, string][] =>
  Object.entries(value).flatMap(([name, part]: [string, string | object]): [string, string][] =>
    typeof part === "string" ? [[`${path}/${name}`, part]] : textsByPath(part, `${path}/${name}`),
  );

t.test("every language has every text, and no text of another language", async (t) => {
  const [en, ...others] = [TEXTS.en, TEXTS.pt, TEXTS.es].map((texts) => new Map(textsByPath(texts)));
  /** Words that are the same in several languages. */
  const shared = ["/prefill/email", "/page/platforms/chatapp/name", "/page/platforms/socialapp/name"];
  for (const texts of others) {
    t.same([...texts.keys()], [...(en as Map<string, string>).keys()]);
    for (const [path, text] of texts) {
      t.not(text.trim(), "", path);
      if (!shared.includes(path)) t.not(text, en?.get(path), path);
    }
  }
});
