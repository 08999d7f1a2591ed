import type { Page } from "playwright-core";
import t from "tap";
import { signupFrame, startSignupSite } from "../../fixtures/embed/signup-site.ts";

const PLATFORMS = ["chatapp", "photoapp", "socialapp"];
const PREFILL = { business: { name: "Ana Coffee", email: "ana@example.com" } };

/** A small frame on a phone. */
const SMALL_FRAME = { width: 360, height: 420 };

/** Wide enough that the host shows beside the content of the frame. */
const WIDE = { width: 1_000, height: 600 };

const HOST_COLOUR = "rgb(243, 239, 230)";

/** A picture of one pixel: pictures of the same colour are equal. */
const pixelAt = (page: Page, x: number, y: number) =>
  page.screenshot({ clip: { x, y, width: 1, height: 1 }, animations: "disabled" });

/** The computed style of the first element in the frame that matches. */
const styleOf = (page: Page, selector: string) =>
  signupFrame(page).evaluate((found) => {
    const { backgroundColor, color } = getComputedStyle(document.querySelector(found) as Element);
    return { backgroundColor, color };
  }, selector);

t.test("the look of the signup page", async (t) => {
  const site = await startSignupSite(t);
  const { createSession, openHost, openPage } = site;

  /** Opens the signup in a light host page on a dark system. */
  async function openLightHost(fields: object) {
    const page = await openPage({ colorScheme: "dark", viewport: WIDE });
    const signup = await openHost(await createSession({ platforms: PLATFORMS, ...fields }), page);
    await signup.frame.locator("[data-platform]").first().waitFor();
    await page.evaluate((color) => (document.body.style.background = color), HOST_COLOUR);
    return page;
  }

  t.test("a small frame shows every button without scrolling, in every language", async (t) => {
    const page = await openPage({ viewport: SMALL_FRAME });
    for (const locale of ["en", "pt", "es"]) {
      const session = await createSession({ platforms: PLATFORMS, prefill: PREFILL, locale });
      await page.goto(session.url);
      const last = page.locator("[data-platform]").nth(PLATFORMS.length - 1);
      await last.waitFor();
      t.equal(await page.locator("html").getAttribute("lang"), locale);
      const { y, height } = (await last.boundingBox()) as { y: number; height: number };
      t.ok(y + height <= SMALL_FRAME.height, `${locale}: the last button ends at ${y + height} px`);
      const table = (await page.locator(".prefill").boundingBox()) as { y: number };
      t.ok(table.y > y + height, "the prefilled values come after the buttons");
    }
  });

  t.test(
    "without a theme, a light host on a dark system gets a light frame that it shows around",
    async (t) => {
      const page = await openLightHost({});
      t.same(await styleOf(page, "body"), { backgroundColor: "rgba(0, 0, 0, 0)", color: "rgb(28, 39, 51)" });
      t.same((await styleOf(page, "main")).backgroundColor, "rgb(255, 255, 255)");
      const frame = (await page.locator("#signup").boundingBox()) as { x: number; y: number };
      const [inFrame, outside] = [await pixelAt(page, frame.x + 2, frame.y + 2), await pixelAt(page, 2, 2)];
      t.ok(inFrame.equals(outside), "the host shows beside the content");
    },
  );

  t.test("a theme and an accent colour are the same on every system", async (t) => {
    const dark = await openLightHost({ theme: "dark", accent_color: "#7a1f5c", platforms: ["chatapp"] });
    t.same((await styleOf(dark, "html")).backgroundColor, "rgb(22, 28, 35)");
    const button = { backgroundColor: "rgb(175, 121, 157)", color: "rgb(15, 20, 25)" };
    t.same(await styleOf(dark, ".primary"), button, "the accent colour is lightened");

    const light = await openLightHost({ theme: "light", accent_color: "#7a1f5c", platforms: ["chatapp"] });
    t.same((await styleOf(light, "html")).backgroundColor, "rgb(255, 255, 255)");
    t.same(await styleOf(light, ".primary"), {
      backgroundColor: "rgb(122, 31, 92)",
      color: "rgb(255, 255, 255)",
    });
  });

  t.test("in a window of its own, the page without a theme follows the system", async (t) => {
    const page = await openPage({ colorScheme: "dark" });
    await page.goto((await createSession()).url);
    const background = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    t.equal(background, "rgb(22, 28, 35)");
  });
});
