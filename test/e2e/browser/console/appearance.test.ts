import type { Page } from "playwright-core";
import t, { type Test } from "tap";
import { adsTexts } from "../../../../src/console/texts/ads.ts";
import { keysTexts } from "../../../../src/console/texts/keys.ts";
import { overviewTexts } from "../../../../src/console/texts/overview.ts";
import { webhooksTexts } from "../../../../src/console/texts/webhooks.ts";
import { texts } from "../../../../src/console/texts.ts";
import { button, goTo, heading, menu, rowsOf } from "../../../fixtures/console/pages.ts";
import { type ConsoleSite, startConsoleSite } from "../../../fixtures/console/site.ts";
import { answerWith } from "../../../fixtures/events/client-backend.ts";
import {
  ALL_IMPACTS,
  APPEARANCE_RULES,
  accessibilityFindings,
  overflowWidth,
} from "../../../fixtures/http/accessibility.ts";
import { DESKTOP_VIEWPORT, PHONE_VIEWPORT } from "../../../fixtures/http/browser.ts";
import { batchCalls, phones, textBatch } from "../../../fixtures/messages/batches.ts";
import { grantAdAccount } from "../../../fixtures/tenants/ad-accounts.ts";
import { PASSWORD } from "../../../fixtures/tenants/tenants.ts";
import { until } from "../../../fixtures/until.ts";

/** The first appearance is checked with all rules, the others with those whose findings depend on the appearance. */
const APPEARANCES = [
  { viewport: DESKTOP_VIEWPORT, colorScheme: "light", rules: undefined },
  { viewport: DESKTOP_VIEWPORT, colorScheme: "dark", rules: APPEARANCE_RULES },
  { viewport: PHONE_VIEWPORT, colorScheme: "dark", rules: APPEARANCE_RULES },
  { viewport: PHONE_VIEWPORT, colorScheme: "light", rules: APPEARANCE_RULES },
] as const;

async function checkAppearance(t: Test, page: Page, name: string): Promise<void> {
  for (const { viewport, colorScheme, rules } of APPEARANCES) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    // The chart follows the width of the window after a moment.
    await until(`${name} fits into ${viewport.width} px`, async () => (await overflowWidth(page)) === 0);
    const findings = await accessibilityFindings(page, rules, ALL_IMPACTS);
    t.same(findings, [], `${name}, ${viewport.width} px, ${colorScheme}`);
  }
  await page.setViewportSize(DESKTOP_VIEWPORT);
}

type ScreenText = [path: string, text: string];

/** Checks the appearance of each screen once it shows a text. */
async function checkScreens(t: Test, page: Page, screens: readonly ScreenText[]): Promise<void> {
  for (const [path, text] of screens) {
    await goTo(page, path);
    await page.getByRole("main").getByText(text).first().waitFor();
    await checkAppearance(t, page, path);
  }
}

/** A batch that is paused after one of its messages has failed. */
async function pauseFailingBatch({ api, owner, channelId }: ConsoleSite): Promise<string> {
  const batches = batchCalls(api, owner.headers);
  const recipients = ["5511988880470", ...phones(60, 5511900101001)];
  const id = await batches.start(
    textBatch(channelId, recipients, { name: "spring-sale", rate_per_second: 1 }),
  );
  await until("a message of the batch has failed", async () => (await batches.read(id)).counts.failed === 1);
  await batches.change(id, "pause");
  return id;
}

const focusedHref = (page: Page) =>
  page.evaluate(() => (document.activeElement as HTMLAnchorElement | null)?.pathname ?? "");

t.test("the console", async (t) => {
  const site = await startConsoleSite(t);
  const { page, backend } = site;
  await page.clock.install();
  backend.answer = answerWith(410, {}, "no such shop");
  await grantAdAccount(site.api, site.tenant);
  await grantAdAccount(site.api, site.tenant, { status: "revoked" });
  const messageId = await site.send({ to: "5511988880470", external_ref: "order-881" });
  const [event] = await site.untilDelivered(messageId, 2);
  backend.answer = answerWith(200, {}, "thanks");
  const eventId = event?.id as string;

  t.test(
    "each screen is accessible and fits into its window, on a phone and a desktop, light and dark",
    async (t) => {
      await site.open("/console/messages");
      await checkScreens(t, page, [
        ["/console", overviewTexts.attention.see.events],
        ["/console/messages", "order-881"],
        [`/console/messages/${messageId}`, texts.messages.timeline],
        ["/console/messages/new", texts.sendMessage.samples],
        ["/console/events", texts.events.columns.answer],
        [`/console/events/${eventId}`, "no such shop"],
        ["/console/webhooks", webhooksTexts.test.title],
        ["/console/ads", adsTexts.terms.needed],
        ["/console/ads/terms", adsTexts.terms.recorded],
        ["/console/ads/connect", adsTexts.login.notBegun],
        ["/console/sessions", texts.sessions.current],
        ["/console/nothing", texts.notFound.text],
      ]);
      await goTo(page, "/console/events");
      await button(page, texts.events.retry.matching).click();
      await page.getByText(texts.events.retry.consequence(2)).waitFor();
      await checkAppearance(t, page, "a dialog");
      await page.keyboard.press("Escape");
    },
  );

  t.test("the console is used by keyboard only", async (t) => {
    const other = await site.openPage();
    await site.open("/console/messages", other);
    await heading(other, texts.signIn.title).waitFor();
    await checkAppearance(t, other, "sign-in");
    const { keyboard } = other;
    await keyboard.press("Tab");
    await keyboard.type(site.owner.email);
    await keyboard.press("Tab");
    await keyboard.type(PASSWORD);
    await keyboard.press("Enter");
    await menu(other).waitFor();
    const newest = await site.send();
    await site.untilDelivered(newest, 4);
    await other.reload();
    await until(
      "both messages are shown",
      async () => (await rowsOf(other, texts.messages.title).count()) === 2,
    );

    await keyboard.press("j");
    t.match(await focusedHref(other), newest);
    await keyboard.press("j");
    t.match(await focusedHref(other), messageId);
    await keyboard.press("k");
    t.match(await focusedHref(other), newest);
    await keyboard.press("j");
    await keyboard.press("Enter");
    await other.waitForURL(`**/console/messages/${messageId}`);

    await keyboard.press("?");
    const keys = other.getByRole("dialog", { name: texts.keys.title });
    await keys.waitFor();
    for (const [key, effect] of texts.keys.list) t.match(await keys.textContent(), `${key}${effect}`);
    await keyboard.press("Escape");
    await keys.waitFor({ state: "detached" });

    await keyboard.press("/");
    await keyboard.type(eventId);
    await keyboard.press("Enter");
    await other.waitForURL(`**/console/events/${eventId}`);
    await other.getByText("no such shop").waitFor();
    await until("Tab reaches the button", async () => {
      await keyboard.press("Tab");
      return other.evaluate(
        (name) => document.activeElement?.textContent === name,
        texts.events.retry.action,
      );
    });
    await keyboard.press("Enter");
    await other.getByText(texts.events.retry.one).waitFor();
    await until("the event is delivered", async () => {
      const { status } = await site.read(`/api/webhooks/events/${eventId}`);
      return status === "delivered";
    });
    await other.context().close();
  });

  t.test("the screens of batches and keys are accessible and fit into their windows too", async (t) => {
    const batchId = await pauseFailingBatch(site);
    await site.tenant.createKey("messages:send", "webhooks:manage");
    await checkScreens(t, page, [
      ["/console/batches", "spring-sale"],
      [`/console/batches/${batchId}`, "131047"],
      ["/console/keys", keysTexts.commandLine],
    ]);
    await button(page, keysTexts.create.action).click();
    await checkAppearance(t, page, "the form for a key");
    await page.keyboard.press("Escape");
  });
});
