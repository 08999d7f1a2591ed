import type { Page } from "playwright-core";
import t from "tap";
import { readGuideGroups } from "../../../src/resources/docs/guides.ts";
import { ALL_IMPACTS, accessibilityFindings, overflowWidth } from "../../fixtures/http/accessibility.ts";
import { startApi } from "../../fixtures/http/api.ts";
import { DESKTOP_VIEWPORT, openBrowser, PHONE_VIEWPORT } from "../../fixtures/http/browser.ts";

/**
 * Pages that together have each kind of element: summaries; images; code and tables in lists; headings of three levels
 * and bold text. axe-core would take a minute for all pages, and the contrast alone half a minute.
 */
const SAMPLES = ["/docs/", "/docs/guides/console", "/docs/operate/backup", "/docs/operate/scaling"];

const OTHERS = readGuideGroups()
  .flatMap(({ guides }) => guides.map(({ page }) => page))
  .filter((path) => !SAMPLES.includes(path));

const WIDTHS = [PHONE_VIEWPORT, DESKTOP_VIEWPORT];

/** The elements of the text, each with the one around it, on which its style depends. */
const kindsOfElements = (page: Page): Promise<string[]> =>
  page
    .locator("article *")
    .evaluateAll((elements) => [
      ...new Set(
        elements.map(({ localName, parentElement }) => `${parentElement?.localName} > ${localName}`),
      ),
    ]);

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

  const kinds = new Set<string>();

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
      for (const kind of await kindsOfElements(page)) kinds.add(kind);
    }
  });

  t.test("all other pages have the same kinds of elements, and fit into a phone", async (t) => {
    await page.setViewportSize(PHONE_VIEWPORT);
    for (const path of OTHERS) {
      await open(path);
      t.same(
        (await kindsOfElements(page)).filter((kind) => !kinds.has(kind)),
        [],
        `${path} has nothing that the samples lack`,
      );
      t.equal(await overflowWidth(page), 0, path);
    }
  });
});
