import type { Page } from "playwright-core";
import t from "tap";
import { readGuideGroups } from "../../../src/resources/docs/guides.ts";
import { ALL_IMPACTS, accessibilityFindings } from "../../fixtures/http/accessibility.ts";
import { startApi } from "../../fixtures/http/api.ts";
import { DESKTOP_VIEWPORT, openBrowser, PHONE_VIEWPORT } from "../../fixtures/http/browser.ts";

/**
 * Pages that together have each kind of element: summaries; images; images in a table; code and tables in lists; headings
 * of three levels and bold text. axe-core would take a minute for all pages, and the contrast alone half a minute.
 */
const SAMPLES = [
  "/docs/",
  "/docs/guides/console",
  "/docs/guides/embedded-signup",
  "/docs/operate/backup",
  "/docs/operate/scaling",
];

const PAGES = readGuideGroups().flatMap(({ guides }) => guides.map(({ page }) => page));

const WIDTHS = [PHONE_VIEWPORT, DESKTOP_VIEWPORT];

interface Article {
  /** Its elements, each with the one around it, on which its style depends. */
  kinds: string[];
  /** Pixels by which it is wider than the window. */
  overflow: number;
}

/** Shows the articles of other pages in the open page, which takes far less time than to open each. */
const showArticles = (page: Page, paths: readonly string[]): Promise<Article[]> =>
  page.evaluate(async (all) => {
    const articles: Article[] = [];
    for (const path of all) {
      const { body } = new DOMParser().parseFromString(await (await fetch(path)).text(), "text/html");
      const article = body.querySelector("article") as HTMLElement;
      document.querySelector("article")?.replaceWith(article);
      const kinds = [...article.querySelectorAll("*")].map(
        ({ localName, parentElement }) => `${parentElement?.localName} > ${localName}`,
      );
      const { scrollWidth, clientWidth } = document.documentElement;
      articles.push({ kinds, overflow: scrollWidth - clientWidth });
    }
    return articles;
  }, paths);

t.test("the guides in a real browser", async (t) => {
  const [api, openPage] = await Promise.all([startApi(t), openBrowser(t)]);
  const page = await openPage({
    viewport: DESKTOP_VIEWPORT,
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const open = (path: string) => page.goto(api.address + path);
  const searchStatus = (text: string | RegExp) => page.locator("#searchStatus", { hasText: text }).waitFor();

  t.test("the search opens a heading of another document by keyboard", async (t) => {
    await open("/docs/");
    await page.locator("body").press("/");
    await page.keyboard.insertText("verify signatures");
    await searchStatus("1 match");
    t.same(await page.locator("#searchResults").allInnerTexts(), ["Verify signatures\nReceive events"]);
    t.notOk(await page.locator("#allDocuments").isVisible(), "the matches are in place of the menu");
    await page.keyboard.press("Enter");
    await page.waitForURL(`${api.address}/docs/guides/receiving#verify-signatures`);
    await page.getByRole("heading", { name: "Verify signatures" }).waitFor();
  });

  t.test("the search says when nothing matches; an empty field shows the menu again", async () => {
    const field = page.getByRole("searchbox");
    await field.fill("a");
    await searchStatus(/^\d+ matches$/);
    await field.fill("nothing has this name");
    await searchStatus("No matches");
    await field.fill("");
    await page.locator("#allDocuments").waitFor();
  });

  t.test("the menu marks the document and shows its sections", async (t) => {
    const menu = page.getByRole("navigation", { name: "Guides", exact: true });
    t.same(await menu.locator("[aria-current=page]").allTextContents(), ["Receive events"]);
    await menu.getByRole("link", { name: "Verify signatures" }).click();
    await page.getByRole("link", { name: "Next Event types" }).click();
    await page.getByRole("heading", { name: "Event types", level: 1 }).waitFor();
    t.equal(page.url(), `${api.address}/docs/guides/events`);
  });

  t.test("the button beside code copies it", async (t) => {
    await open("/docs/guides/quickstart");
    await page.getByRole("button", { name: "Copy" }).first().click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    t.equal(await page.evaluate(() => navigator.clipboard.readText()), "npm ci && npm start");
  });

  t.test("without scripts, the menu is there, and what needs scripts is not", async (t) => {
    const pageWithoutScript = await openPage({ javaScriptEnabled: false, viewport: PHONE_VIEWPORT });
    await pageWithoutScript.goto(`${api.address}/docs/guides/quickstart`);
    t.ok(await pageWithoutScript.getByRole("link", { name: "Send messages" }).first().isVisible());
    t.equal(await pageWithoutScript.getByRole("button").count(), 0);
    t.notOk(await pageWithoutScript.getByRole("searchbox").isVisible());
  });

  t.test("pages with each kind of element have no accessibility findings", async (t) => {
    for (const [index, path] of SAMPLES.entries()) {
      await open(path);
      // Each page has both themes and both widths, every second page the other pairs of them.
      for (const [at, viewport] of WIDTHS.entries()) {
        const colorScheme = (index + at) % 2 === 0 ? "light" : "dark";
        await page.setViewportSize(viewport);
        await page.emulateMedia({ colorScheme });
        const findings = await accessibilityFindings(page, undefined, ALL_IMPACTS);
        t.same(findings, [], `${path}, ${viewport.width} px, ${colorScheme}`);
      }
    }
  });

  t.test("all pages have only the kinds of elements of the samples, and fit into a phone", async (t) => {
    await page.setViewportSize(PHONE_VIEWPORT);
    const kinds = new Set((await showArticles(page, SAMPLES)).flatMap((article) => article.kinds));
    for (const [index, article] of (await showArticles(page, PAGES)).entries()) {
      const others = article.kinds.filter((kind) => !kinds.has(kind));
      t.same([others, article.overflow], [[], 0], `${PAGES[index]}`);
    }
  });
});
