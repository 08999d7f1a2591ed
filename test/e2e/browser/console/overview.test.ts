import type { Locator, Page } from "playwright-core";
import t from "tap";
import { overviewTexts as words } from "../../../../src/console/texts/overview.ts";
import { texts } from "../../../../src/console/texts.ts";
import { DAY, HOUR, SECOND } from "../../../../src/runtime/durations.ts";
import { newId } from "../../../../src/runtime/ids.ts";
import { holdQueue, releaseQueue } from "../../../../src/store/processes/queue-hold.ts";
import {
  button,
  expectErrors,
  failedLoad,
  goTo,
  heading,
  menu,
  openConsoleBrowser,
  readClipboard,
  rowsOf,
  signIn,
} from "../../../fixtures/console/pages.ts";
import { CHANNEL_NAME, startConsoleSite } from "../../../fixtures/console/site.ts";
import { answerWith } from "../../../fixtures/events/client-backend.ts";
import { startApi } from "../../../fixtures/http/api.ts";
import { insertBatch } from "../../../fixtures/messages/batch-rows.ts";
import { batchCalls, phones, textBatch } from "../../../fixtures/messages/batches.ts";
import { resetProgress, rollUp } from "../../../fixtures/stats/figures.ts";
import { grantAdAccount } from "../../../fixtures/tenants/ad-accounts.ts";
import { makeTenant } from "../../../fixtures/tenants/tenants.ts";
import { until } from "../../../fixtures/until.ts";

const { attention, setup, figures } = words;

/** The screen asks again after this time. */
const REFRESH_MS = 15_000;

const stepOf = (page: Page, step: keyof typeof setup.steps) =>
  page.getByRole("listitem").filter({ hasText: setup.steps[step].title });

t.test("the overview of a client that sends and receives", async (t) => {
  const site = await startConsoleSite(t);
  const { page, api, tenant, backend, channelId } = site;
  await page.clock.install();
  const lineOf = (text: string) => page.getByRole("listitem").filter({ hasText: text });
  /** Asks the screen to refresh, at most once in two seconds: each refresh reads a dozen things. */
  const untilFound = (element: Locator) =>
    until(`${element} is visible`, async () => {
      const isVisible = () =>
        element.waitFor({ timeout: 2 * SECOND }).then(
          () => true,
          () => false,
        );
      if (await isVisible()) return true;
      await page.clock.fastForward(REFRESH_MS);
      return isVisible();
    });
  const untilShown = (text: string) => untilFound(page.getByText(text));

  t.test(
    "a new client sees the checklist, and each open step leads to the screen that does it",
    async (t) => {
      await site.open("/console");
      await heading(page, words.title).waitFor();
      await stepOf(page, "webhook_address").waitFor();
      const { data } = await site.read("/api/setup");
      for (const { step, done, detail } of data) {
        const shown = await stepOf(page, step).textContent();
        t.match(shown, done ? setup.isDone : setup.isOpen, step);
        t.match(shown, detail.split(/ at \d{4}-/)[0]);
      }
      t.equal(await page.getByRole("img").count(), 0, "no charts of nothing");
      await stepOf(page, "webhook_secret")
        .getByRole("link", { name: setup.steps.webhook_secret.next })
        .click();
      await page.waitForURL(/\/console\/webhooks$/);
      await page.goBack();
      await stepOf(page, "message").getByRole("link", { name: setup.steps.message.next }).click();
      await page.waitForURL(/\/console\/messages\/new$/);
    },
  );

  t.test("when all is set up and delivered, a sentence says so beside the figures", async () => {
    await api.call("POST", "/api/webhooks/config/generate-secret", site.owner);
    await site.untilDelivered(await site.send(), 4);
    await resetProgress(api, 26);
    await rollUp(api);
    await goTo(page, "/console");
    await untilShown(attention.nothing.delivered);
    // The checklist names the other use of Herald, which can still be set up.
    for (const text of [
      `1 ${figures.acceptedMessages}100 % ${figures.sent}${figures.nothingWaits}`,
      `4 ${figures.recordedEvents}100 % ${figures.delivered}${figures.nothingWaits}`,
      setup.ads,
    ])
      await untilFound(page.getByRole("main").filter({ hasText: text }));
  });

  t.test("the period is in the address, and a bar leads to its rows", async (t) => {
    const chart = page.getByRole("img", { name: texts.messages.activity(texts.last24Hours) });
    await chart.waitFor();
    await page.getByRole("link", { name: words.periods["30d"] }).click();
    await page.waitForURL(/\/console\?period=30d$/);
    const days = page.getByRole("img", { name: texts.messages.activity(words.last30Days) });
    const drawn = days.locator(".u-over");
    await drawn.waitFor();
    t.match(await page.getByRole("main").textContent(), `1 ${figures.acceptedMessages}`);
    const { width = 0 } = (await drawn.boundingBox()) ?? {};
    await drawn.click({ position: { x: width - 2, y: 20 } });
    await page.waitForURL(/\/console\/messages\?since=.*T00%3A00%3A00.000Z&until=.*T23%3A59%3A59.999Z$/);
    await rowsOf(page, texts.messages.title).first().waitFor();
    await page.goBack();
    await days.waitFor();
  });

  t.test("failures are grouped by cause, and lead to the failed rows", async (t) => {
    await site.untilDelivered(await site.send({ to: "5511988880000" }), 2);
    await goTo(page, "/console");
    const line = lineOf(`1 message of ${CHANNEL_NAME} failed.`);
    await untilFound(line);
    t.match(await line.textContent(), (await site.read("/api/stats/failures")).data[0].summary);
    await line.getByRole("link", { name: attention.see.messages }).click();
    await page.waitForURL(new RegExp(`/console/messages\\?status=failed&channel_id=${channelId}$`));
    await rowsOf(page, texts.messages.title).filter({ hasText: "5511988880000" }).waitFor();
  });

  t.test("a backend that fails is named with its answer, then that it is not called any more", async (t) => {
    await goTo(page, "/console");
    backend.answer = answerWith(503);
    await site.send();
    const link = page.getByRole("link", { name: attention.see.events });
    await untilFound(link);
    t.match(await page.getByRole("main").textContent(), "(HTTP 503)");
    t.equal((await site.read("/api/setup")).data[0].done, false, "a step is open again");
    await page.getByRole("link", { name: words.periods["7d"] }).waitFor();
    await site.send();
    await site.send();
    await untilShown(`Your backend ${new URL(backend.url).host} fails repeatedly (HTTP 503).`);
    await link.click();
    await page.waitForURL(/\/console\/events\?status=pending$/);
    await rowsOf(page, texts.events.title).first().waitFor();
  });

  t.test("a channel, a batch, an ad account and the operator's hold are named with what to do", async (t) => {
    const batches = batchCalls(api, site.owner.headers);
    const sendAt = new Date(Date.now() + 1 * HOUR).toISOString();
    const batchId = await batches.start(
      textBatch(channelId, phones(2, 5511900101001), { name: "spring", send_at: sendAt }),
    );
    await batches.change(batchId, "pause");
    await grantAdAccount(api, tenant);
    await api.db.query("update ad_connections set expires_at = $1", [new Date(Date.now() + 6 * DAY)]);
    await api.db.query("update channels set status = 'needs_reauth' where id = $1", [channelId]);
    await holdQueue(api.db, { by: "an operator" });
    await goTo(page, "/console");
    await untilShown(attention.channel(CHANNEL_NAME));
    await untilShown(attention.held);
    await untilShown(attention.expires("Shop"));
    await untilShown(attention.termsNeeded("2026-11-01"));
    await lineOf(attention.batch("spring", "requested")).getByRole("link").click();
    await page.waitForURL(new RegExp(`/console/batches/${batchId}$`));
    await releaseQueue(api.db);
    await page.goBack();
    await button(lineOf(attention.channel(CHANNEL_NAME)), words.signup.reconnect).click();
    const dialog = page.getByRole("dialog", { name: words.signup.title });
    const link = (await dialog.getByRole("link").getAttribute("href")) as string;
    await button(dialog, words.signup.copy).click();
    t.equal(await readClipboard(page), link);
    const { data } = await site.read("/api/embed/sessions");
    t.match(data, [{ status: "pending", platforms: ["chatapp"] }]);
    const [signup] = await Promise.all([
      page.context().waitForEvent("page"),
      dialog.getByRole("link", { name: words.signup.open }).click(),
    ]);
    await signup.locator('[data-platform="chatapp"]').waitFor();
    t.equal(signup.url(), link);
    await signup.close();
  });

  t.test("a part that cannot be read is said, and nothing is claimed to be fine", async (t) => {
    await page.route("**/api/stats/failures", (route) =>
      route.fulfill({ status: 429, json: { error: "rate_limited", message: "Later", request_id: "req_1" } }),
    );
    expectErrors(page, failedLoad(429));
    await goTo(page, "/console/sessions");
    await heading(page, texts.sessions.title).waitFor();
    await goTo(page, "/console");
    await untilShown(attention.incomplete);
    t.equal(await page.getByText(attention.nothing.delivered).count(), 0);
    await page.unroute("**/api/stats/failures");
  });

  t.test("while Herald does not answer, the screen says so, and it recovers by itself", async (t) => {
    expectErrors(page, "net::ERR_FAILED");
    await page.route("**/api/**", (route) => route.abort());
    await untilShown(texts.noAnswer);
    await page.unroute("**/api/**");
    await until("the notice is gone", async () => {
      await page.clock.fastForward(REFRESH_MS);
      return (await page.getByText(texts.noAnswer).count()) === 0;
    });
    t.equal(await page.getByText(attention.incomplete).count(), 0);
  });
});

t.test("the overview of a client without anything, and of a viewer", async (t) => {
  const [api, openPage] = await Promise.all([startApi(t), openConsoleBrowser(t)]);
  const tenant = await makeTenant(api, "New shop");
  const [owner, viewer] = [await tenant.createUser("owner"), await tenant.createUser("viewer")];
  const page = await openPage();

  t.test("a link to a signup page connects the first channel, of any platform", async (t) => {
    await signIn(page, owner, `${api.address}/console`);
    await button(stepOf(page, "channel"), setup.steps.channel.next).click();
    await page.getByRole("dialog", { name: words.signup.title }).waitFor();
    const { data } = (await api.call("GET", "/api/embed/sessions", owner)).body;
    t.match(data, [{ status: "pending", platforms: ["chatapp", "photoapp", "socialapp"] }]);
    await page.keyboard.press("Escape");
    await page.context().close();
  });

  t.test("a viewer sees what concerns advertising, and is offered nothing else", async (t) => {
    const { id } = await grantAdAccount(api, tenant, { status: "revoked" });
    await api.db.query("update ad_accounts set last_synced_at = $1 where id = $2", [
      new Date(Date.now() - 1 * HOUR),
      id,
    ]);
    await makeTenant(api).then((other) =>
      insertBatch(api, other, { channel_id: newId("ch"), status: "paused" }),
    );
    const other = await openPage();
    await signIn(other, viewer, `${api.address}/console`);
    t.equal(await menu(other).getByRole("listitem").count(), 2);
    await other.getByText(attention.revoked("Shop")).waitFor();
    await other.getByText(attention.termsNeeded("2026-11-01")).waitFor();
    const main = other.getByRole("main");
    await stepOf(other, "terms").getByRole("link", { name: setup.steps.terms.next }).first().waitFor();
    t.equal(await main.getByRole("button").count(), 0);
    t.equal(await main.getByRole("img").count(), 0);
    for (const step of ["webhook_address", "channel", "message", "ad_account"] as const)
      t.equal(await main.getByText(setup.steps[step].next).count(), 0, step);
  });
});
