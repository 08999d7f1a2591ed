import type { Request, Route } from "playwright-core";
import t from "tap";
import { texts } from "../../../../src/console/texts.ts";
import {
  button,
  expectErrors,
  failedLoad,
  heading,
  openConsoleBrowser,
  rowIds,
  rowsOf,
  signIn,
  untilRows,
} from "../../../fixtures/console/pages.ts";
import { startApi } from "../../../fixtures/http/api.ts";
import { insertSendBacklog } from "../../../fixtures/messages/backlog.ts";
import { makeChannel } from "../../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../../fixtures/tenants/tenants.ts";
import { until } from "../../../fixtures/until.ts";

const words = texts.messages;
const LIST = "/api/outbound/messages";

const MESSAGES = 10_000;
const FAILED_MESSAGES = 60;
const PAGE_ROWS = 50;

/** Separates a list that works from one that reads everything, on a busy machine too. */
const MAX_LIST_MS = 10_000;

/** A screen shows that it loads after 150 ms. */
const [BEFORE_SKELETON_MS, AFTER_SKELETON_MS] = [100, 200];

t.test("a list of 10,000 messages in the console", async (t) => {
  const [api, openPage] = await Promise.all([startApi(t), openConsoleBrowser(t)]);
  const tenant = await makeTenant(api, "Corner shop");
  const channelId = await makeChannel(api, tenant);
  const ids = (await insertSendBacklog(api.db, { tenant, channelId, count: MESSAGES })).sort().reverse();
  // Every 100th message has failed, so that they lie on many pages.
  const failed = ids.filter((_, index) => index % 100 === 7).slice(0, FAILED_MESSAGES);
  await api.db.query("update messages set status = 'failed' where id = any($1)", [failed]);
  const owner = await tenant.createUser("owner");
  const page = await openPage();
  const isList = (request: Request) => new URL(request.url()).pathname === LIST;
  const untilIds = (expected: readonly string[], shown = page) =>
    until("the expected rows are shown", async () => {
      const found = await rowIds(shown, words.title);
      return found.length === expected.length && found.every((id, index) => id === expected[index]);
    });

  t.test("the newest rows are shown within the time of a single page", async (t) => {
    await signIn(page, owner, `${api.address}/console/messages`);
    await untilIds(ids.slice(0, PAGE_ROWS));
    const lines = api.lines.filter(({ event, route }) => event === "http.request" && route === LIST);
    t.ok(lines.length > 0);
    for (const { ms } of lines) t.ok(Number(ms) < MAX_LIST_MS, `${ms} ms`);
  });

  t.test("older and newer rows are pages with addresses of their own", async (t) => {
    await page.getByRole("link", { name: texts.older }).click();
    await untilIds(ids.slice(PAGE_ROWS, 2 * PAGE_ROWS));
    const address = page.url();
    t.match(address, /[?&]after=/);
    await page.getByRole("link", { name: texts.newer }).click();
    await untilIds(ids.slice(0, PAGE_ROWS));
    await page.goBack();
    await untilIds(ids.slice(PAGE_ROWS, 2 * PAGE_ROWS));
    t.equal(page.url(), address);
    await page.getByRole("link", { name: texts.newest }).click();
    await untilIds(ids.slice(0, PAGE_ROWS));
    t.equal(page.url(), `${api.address}/console/messages`);
  });

  t.test("a filter is in the address and runs on the server", async (t) => {
    const [request] = await Promise.all([
      page.waitForRequest(isList),
      page.getByLabel(words.columns.status).selectOption("failed"),
    ]);
    t.equal(new URL(request.url()).searchParams.get("status"), "failed");
    await untilIds(failed.slice(0, PAGE_ROWS));
    t.match(page.url(), /\?status=failed$/);

    const copied = await page.context().newPage();
    await copied.goto(page.url());
    await untilIds(failed.slice(0, PAGE_ROWS), copied);
    t.equal(await copied.getByLabel(words.columns.status).inputValue(), "failed");
    await copied.getByRole("link", { name: texts.older }).click();
    await untilIds(failed.slice(PAGE_ROWS), copied);
    t.match(copied.url(), /status=failed&after=/);
    await copied.close();

    await page.goBack();
    await untilIds(ids.slice(0, PAGE_ROWS));
    t.equal(await page.getByLabel(words.columns.status).inputValue(), "");
  });

  t.test("a list without matches says so, and the filters can be cleared", async (t) => {
    const recipient = page.getByLabel(words.columns.to, { exact: true });
    await recipient.fill("5511000000000");
    await recipient.press("Enter");
    await page.getByText(words.noneMatch).waitFor();
    t.match(page.url(), /\?to=5511000000000$/);
    t.equal(await rowsOf(page, words.title).count(), 0);
    await page.getByRole("link", { name: texts.clearFilters }).click();
    await untilRows(page, words.title, PAGE_ROWS);
    t.equal(await recipient.inputValue(), "");
  });

  t.test("an error names its request, shows no other rows, and can be tried again", async (t) => {
    expectErrors(page, failedLoad(503));
    const message = "Herald is overloaded, please try again";
    await page.route(
      `**${LIST}?*`,
      (route) =>
        route.fulfill({
          status: 503,
          headers: { "x-request-id": "req_of_the_test" },
          json: { error: "overloaded", message, request_id: "req_of_the_test" },
        }),
      { times: 1 },
    );
    await page.getByLabel(words.columns.status).selectOption("failed");
    await page.getByRole("alert").waitFor();
    t.match(await page.getByRole("alert").textContent(), message);
    t.equal(await page.getByTitle(texts.copy("req_of_the_test")).count(), 1);
    t.equal(await rowsOf(page, words.title).count(), 0, "rows of other filters are not shown as these");
    await button(page, texts.tryAgain).click();
    await untilIds(failed.slice(0, PAGE_ROWS));
    t.equal(await page.getByRole("alert").count(), 0);
  });

  t.test("only a slow answer shows a skeleton", async (t) => {
    const held: Route[] = [];
    await page.route(`**${LIST}?*`, (route) => void held.push(route));
    await page.clock.install();
    await page.goto(`${api.address}/console/sessions`);
    await untilRows(page, texts.sessions.title, 1);
    await page.clock.pauseAt(Date.now() + 1_000);
    await page.getByRole("link", { name: words.title, exact: true }).click();
    await until("the list is asked for", async () => {
      if (held.length === 0) await page.clock.runFor(10);
      return held.length > 0;
    });
    const skeleton = page.getByRole("status", { name: texts.loading });
    await page.clock.runFor(BEFORE_SKELETON_MS);
    t.equal(await skeleton.count(), 0);
    await page.clock.runFor(AFTER_SKELETON_MS);
    t.equal(await skeleton.count(), 1);
    await page.clock.resume();
    for (const route of held.splice(0)) await route.continue();
    await heading(page, words.title).waitFor();
    await untilIds(ids.slice(0, PAGE_ROWS));
    t.equal(await skeleton.count(), 0);
  });
});
