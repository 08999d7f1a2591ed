import type { Page, Route } from "playwright-core";
import t from "tap";
import { batchesTexts } from "../../../../src/console/texts/batches.ts";
import { texts } from "../../../../src/console/texts.ts";
import { HOUR } from "../../../../src/runtime/durations.ts";
import {
  button,
  callFromPage,
  changeUser,
  expectErrors,
  failedLoad,
  goTo,
  heading,
  menu,
  rowIds,
  rowsOf,
  untilRows,
  untilVisible,
} from "../../../fixtures/console/pages.ts";
import { CHANNEL_NAME, startConsoleSite } from "../../../fixtures/console/site.ts";
import { batchCalls, phones, sumOf, textBatch } from "../../../fixtures/messages/batches.ts";
import { until } from "../../../fixtures/until.ts";

const words = batchesTexts;

/** Two that the platform cannot reach and one outside of the window, then so many that the batch goes on for minutes. */
const RECIPIENTS = ["5511900010000", "5511900010470", "5511900020000", ...phones(240, 5511900101001)];
const RATE = 2;

/** The screens ask again after at most this time. */
const REFRESH_MS = 5_000;

const main = (page: Page) => page.getByRole("main");

/** A word of the facts of the batch. */
const statusOf = (page: Page, status: string) => main(page).locator("dd").getByText(status, { exact: true });

const causesOf = (page: Page) =>
  main(page).locator("section").filter({ hasText: words.causesTitle }).getByRole("listitem");

const isFocused = (page: Page, text: string) =>
  page.evaluate((text) => document.activeElement?.textContent === text, text);

t.test("batches in the console", async (t) => {
  const site = await startConsoleSite(t);
  const { page, channelId } = site;
  await page.clock.install();
  const batches = batchCalls(site.api, site.owner.headers);
  const start = (recipients: readonly string[], fields: object = {}) =>
    batches.start(textBatch(channelId, recipients, fields));
  const startLater = (name: string) =>
    start(phones(3), { name, send_at: new Date(Date.now() + 1 * HOUR).toISOString() });

  t.test("an empty list says what a batch is, and shows the first one by itself", async (t) => {
    await goTo(page, "/console/batches");
    await page.getByText(words.whatIsIt).waitFor();
    const guide = page.getByRole("link", { name: words.howTo });
    const path = await guide.getAttribute("href");
    t.equal((await site.api.call("GET", path as string)).status, 200);
    const id = await start(["5511988887777", "5511900010470"], { name: "two people" });
    await untilVisible(page, page.getByRole("link", { name: "two people" }));
    t.same(await rowIds(page, words.title), [id]);
  });

  t.test("the list shows the progress of each batch while it is unfinished", async (t) => {
    const [id = ""] = await rowIds(page, words.title);
    await batches.untilBatch(id, { status: "finished" });
    await untilVisible(page, rowsOf(page, words.title).getByText("finished"), REFRESH_MS);
    const row = await rowsOf(page, words.title).textContent();
    for (const text of [CHANNEL_NAME, words.progress(100), words.failed(1)]) t.match(row, text);
  });

  t.test("the filters of the list are in its address", async (t) => {
    const [finished] = await rowIds(page, words.title);
    const scheduled = await startLater("tomorrow");
    const paused = await startLater("paused by hand");
    await batches.change(paused, "pause");
    await page.getByLabel(words.columns.status).selectOption("paused");
    await untilRows(page, words.title, 1);
    t.same(await rowIds(page, words.title), [paused]);
    t.match(await rowsOf(page, words.title).textContent(), words.reasons.requested);
    await page.getByLabel(words.columns.channel).selectOption(channelId);
    await page.waitForURL(`**/console/batches?status=paused&channel_id=${channelId}`);
    await page.getByLabel(words.columns.status).selectOption("cancelled");
    await page.getByText(words.noneMatch).waitFor();
    await page.getByRole("link", { name: texts.clearFilters }).click();
    await untilRows(page, words.title, 3);
    t.same(await rowIds(page, words.title), [paused, scheduled, finished]);
  });

  t.test("a running batch", async (t) => {
    const id = await start(RECIPIENTS, { name: "spring-sale", rate_per_second: RATE });

    t.test("its failures are shown by cause, most frequent first, each explained", async (t) => {
      await goTo(page, `/console/batches/${id}`);
      await until("three messages have failed", async () => (await batches.read(id)).counts.failed === 3);
      await untilVisible(page, causesOf(page).getByText(words.count(2)), REFRESH_MS);
      await untilVisible(page, causesOf(page).getByText(words.count(1)), REFRESH_MS);
      const [first = "", second = ""] = await causesOf(page).allTextContents();
      t.match(first, /131026/);
      t.match(second, /131047/);
      const sample = await causesOf(page).first().getByRole("link").getAttribute("href");
      const messageId = sample?.split("/").at(-1) as string;
      const { summary } = await site.read(`/api/outbound/messages/${messageId}/explanation`);
      t.match(first, summary);
      t.match(await site.read(`/api/outbound/messages/${messageId}`), {
        batch_id: id,
        error: { code: 131026 },
      });
    });

    t.test("its outcomes are a bar with a text, and counts with links to the messages", async (t) => {
      const text = /^Of 243 messages: \d+ sent, 3 failed, 0 unknown, 0 cancelled, \d+ waiting$/;
      await untilVisible(page, main(page).getByRole("img", { name: text }), REFRESH_MS);
      const failed = page.getByRole("link", { name: words.inStatus(3, "failed"), exact: true });
      t.equal(await failed.getAttribute("href"), `/console/messages?batch_id=${id}&status=failed`);
      await causesOf(page).getByRole("link").first().click();
      await page.getByRole("link", { name: id }).click();
      await page.waitForURL(`**/console/batches/${id}`);
      await page.getByRole("heading", { name: "spring-sale" }).waitFor();
    });

    t.test("it is paused and resumed by keyboard", async (t) => {
      await button(page, words.pause).waitFor();
      await until("Tab reaches the button", async () => {
        await page.keyboard.press("Tab");
        return isFocused(page, words.pause);
      });
      await page.keyboard.press("Enter");
      await page.getByText(words.pauses.requested.summary).waitFor();
      t.match(await batches.read(id), { status: "paused", pause_reason: "requested" });
      t.ok(await isFocused(page, words.resume));
      await page.keyboard.press("Enter");
      await statusOf(page, "running").waitFor();
      t.match(await batches.read(id), { status: "running" });
      t.equal(await page.getByText(words.pauses.requested.summary).count(), 0);
    });

    t.test("it is cancelled only after a question with the consequence", async (t) => {
      await button(page, words.pause).click();
      await statusOf(page, "paused").waitFor();
      const { counts } = await until("nothing of it is in flight", async () => {
        const batch = await batches.read(id);
        return batch.counts.sending === 0 && batch;
      });
      await button(page, words.cancel.action).click();
      const dialog = page.getByRole("dialog", { name: words.cancel.title });
      await untilVisible(page, dialog.getByText(words.cancel.consequence(counts.queued)));
      await button(dialog, words.cancel.refusal).click();
      await dialog.waitFor({ state: "detached" });
      t.match(await batches.read(id), { status: "paused" });
      await button(page, words.cancel.action).click();
      await button(dialog, words.cancel.action).click();
      await statusOf(page, "cancelled").waitFor();
      const cancelled = await batches.read(id);
      t.match(cancelled, { status: "cancelled", counts: { queued: 0, cancelled: counts.queued } });
      t.equal(sumOf(cancelled.counts), RECIPIENTS.length);
      for (const name of [words.pause, words.resume, words.cancel.action])
        t.equal(await button(page, name).count(), 0, name);
    });
  });

  t.test("a change that the server refuses shows why, and the batch as it is", async (t) => {
    const id = await startLater("cancelled by a colleague");
    const held: Route[] = [];
    let reads = 0;
    // Only the first time the batch is read, so that the screen shows it as it was.
    await page.route(`**/api/outbound/batches/${id}`, (route) => {
      reads += 1;
      return reads === 1 ? route.continue() : void held.push(route);
    });
    await page.keyboard.press("/");
    await page.keyboard.type(id);
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/console/batches/${id}`);
    await statusOf(page, "scheduled").waitFor();
    await batches.change(id, "cancel");
    expectErrors(page, failedLoad(409));
    await Promise.all([
      page.waitForResponse((response) => response.status() === 409),
      button(page, words.pause).click(),
    ]);
    await page.unroute(`**/api/outbound/batches/${id}`);
    for (const route of held) await route.continue().catch(() => {}); // the page has given up the earlier ones
    await page.getByRole("alert").waitFor();
    t.match(await page.getByRole("alert").textContent(), /cannot pause: it is cancelled/);
    await statusOf(page, "cancelled").waitFor();
    t.equal(await button(page, words.pause).count(), 0);
  });

  t.test("a viewer has no batches, and the server refuses them", async (t) => {
    await changeUser(page, await site.tenant.createUser("viewer"));
    t.equal(await menu(page).getByRole("link", { name: words.title }).count(), 0);
    await goTo(page, "/console/batches");
    await heading(page, texts.notAllowed.title).waitFor();
    expectErrors(page, failedLoad(403));
    t.equal(await callFromPage(page, "GET", "/api/outbound/batches"), 403);
  });
});
