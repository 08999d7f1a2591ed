import type { BrowserContext } from "playwright-core";
import t from "tap";
import { overflowWidth } from "../../fixtures/http/accessibility.ts";
import { startApi } from "../../fixtures/http/api.ts";
import {
  DESKTOP_VIEWPORT,
  openBrowser,
  PHONE_VIEWPORT,
  watchForViolations,
} from "../../fixtures/http/browser.ts";
import { until } from "../../fixtures/until.ts";

const LONG_TEXT = "AQD".repeat(120);

const RETURN_PATH = "/console/oauth";
const GRANTED_PATH = `${RETURN_PATH}?${new URLSearchParams({ code: `it's "${LONG_TEXT}"`, state: `${LONG_TEXT}.${LONG_TEXT}` })}`;
const DENIED_PATH = `${RETURN_PATH}?${new URLSearchParams({
  error: "access_denied",
  error_reason: "user_denied",
  error_description: `</p><img src=x onerror=alert(1)>${LONG_TEXT}`,
})}`;

t.test("views in a real browser", async (t) => {
  const [api, openPage] = await Promise.all([startApi(t), openBrowser(t)]);
  const page = await openPage({ permissions: ["clipboard-read", "clipboard-write"] });

  t.test("views fit into phone and desktop windows, light and dark", async (t) => {
    const variants = [
      { size: PHONE_VIEWPORT, colorScheme: "light" },
      { size: DESKTOP_VIEWPORT, colorScheme: "dark" },
    ] as const;
    for (const path of [GRANTED_PATH, DENIED_PATH, RETURN_PATH, "/embed/nothing"]) {
      await page.goto(api.address + path);
      const backgrounds = new Set<string>();
      for (const { size, colorScheme } of variants) {
        await page.setViewportSize(size);
        await page.emulateMedia({ colorScheme });
        t.equal(await overflowWidth(page), 0, `${path.slice(0, 30)} at ${size.width}`);
        const main = page.locator("main");
        backgrounds.add(await main.evaluate((element) => getComputedStyle(element).backgroundColor));
      }
      t.equal(backgrounds.size, 2, "the dark scheme has another background");
    }
  });

  t.test("the copy button copies the shown command", async (t) => {
    await page.goto(api.address + GRANTED_PATH);
    await page.getByRole("button", { name: "Copy the command" }).click();
    await until("the copy is confirmed", () => page.getByRole("status").textContent());
    t.equal(await page.getByRole("status").textContent(), "Copied");
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    t.match(
      copied,
      /^curl -sS 'http.*\/api\/marketing\/oauth\/exchange' \\\n {2}-H "x-svc-api-key: \$API_KEY"/,
    );
    t.equal(copied, await page.locator("#command").textContent());
  });

  t.test("views show no button without scripts", async (t) => {
    const pageWithoutScript = await openPage({ javaScriptEnabled: false });
    await pageWithoutScript.goto(api.address + GRANTED_PATH);
    t.equal(await pageWithoutScript.getByRole("button").count(), 0);
    t.match(await pageWithoutScript.locator("#command").textContent(), "x-svc-api-key");
  });

  t.test("policy violations and script errors of a view are reported", async (t) => {
    const failures: string[] = [];
    const context = (await page.context().browser()?.newContext()) as BrowserContext;
    watchForViolations(context, (failure) => failures.push(failure));
    const watched = await context.newPage();
    await watched.goto(api.address + RETURN_PATH);
    await watched.evaluate(() => {
      const image = new Image();
      image.src = "http://elsewhere.example/x.png";
      document.body.append(image);
      setTimeout(() => {
        throw new Error("of the page's own");
      });
    });
    await until("all three are reported", () =>
      [/Content Security Policy/, /requests http:\/\/elsewhere/, /of the page's own/].every((expected) =>
        failures.some((failure) => expected.test(failure)),
      ),
    );
    t.pass("all three are reported");
  });
});
