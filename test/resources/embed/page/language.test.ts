import t from "tap";
import { languageOf, TEXTS } from "../../../../src/resources/embed/page/language.ts";

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
  for (const [header, language] of Object.entries(expected)) t.equal(languageOf(header), language, header);
  t.equal(languageOf(undefined), "en");
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
