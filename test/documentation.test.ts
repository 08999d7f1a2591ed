import "reflect-metadata";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t from "tap";
import { packageRoot } from "../src/runtime/package-root.ts";
import { documentationPages, generatedNames } from "../tools/docs/markdown.ts";
import { generatedFiles, generateParts } from "../tools/docs/update-docs.ts";
import { codeBlocks } from "./fixtures/docs/code-blocks.ts";
import { headingAnchors } from "./fixtures/docs/heading-anchors.ts";

const root = packageRoot();
const read = (file: string) => readFileSync(join(root, file), "utf8");
const PAGES = documentationPages(root);

t.test("the generated tables and .env.example match the code", async (t) => {
  const parts = await generateParts();
  for (const [file, text] of generatedFiles(root, parts))
    t.equal(read(file), text, `${file} is up to date; npm run docs updates it`);
  const used = PAGES.flatMap((page) => generatedNames(read(page)));
  t.same(used.sort(), [...parts.keys()].sort(), "each table has one page");
});

t.test("README.md has at most 150 lines", async (t) => {
  t.ok(read("README.md").split("\n").length <= 151);
});

t.test("the examples are shown as they are", async (t) => {
  const shownIn = (page: string, language: string) =>
    codeBlocks(read(page)).find((block) => block.language === language)?.code;
  t.equal(shownIn("README.md", "js"), read("examples/echo-bot/echo-bot.js"));
  t.equal(shownIn("docs/guides/embedded-signup.md", "html"), read("examples/host-page/host-page.html"));
});

t.test("every relative link leads to a file and to a heading in it", async (t) => {
  for (const page of PAGES)
    for (const [, target = ""] of read(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const [path = "", anchor] = target.split("#");
      const file = path === "" ? page : join(dirname(page), path);
      t.ok(existsSync(join(root, file)), `${page}: ${target}`);
      if (anchor !== undefined) t.ok(headingAnchors(read(file)).includes(anchor), `${page}: ${target}`);
    }
});

t.test("a code block has a language, and one that is executed begins with the settings file", async (t) => {
  const languages = ["sh", "text", "json", "js", "ts", "html", "python", "sql", "yaml"];
  for (const page of PAGES) {
    const blocks = codeBlocks(read(page));
    for (const { language, line } of blocks) t.ok(languages.includes(language), `${page}:${line}`);
    const [first] = blocks.filter(({ language }) => language === "sh");
    if (first) t.equal(first.code, "set -a; . .herald/env; set +a\n", page);
  }
});

t.test("the glossary has at most 30 words", async (t) => {
  const [, glossary = ""] = read("docs/contributing.md").split("## Glossary\n");
  const words = glossary.match(/^\| \*\*/gm) ?? [];
  t.ok(words.length > 10 && words.length <= 30, `${words.length} words`);
});

/** A value of `who_acts` in the contract. */
const ACTOR = /(["`])nobody\1/g;

const AVOIDED_WORDS = /\b(whoever|nobody|doorbell|lookout|crew|deed|mended|mend)\b/i;

t.test("sources and documents avoid words that have a plainer synonym", async (t) => {
  const listed = ["src", "workers", "bin", "tools", "sdk/src", "docs", "examples"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => /\.(ts|js|md|html|css)$/.test(file))
      .map((file) => join(folder, file)),
  );
  for (const file of [...listed, "README.md", "CHANGELOG.md"])
    t.equal(AVOIDED_WORDS.exec(read(file).replace(ACTOR, ""))?.[0], undefined, file);
});
