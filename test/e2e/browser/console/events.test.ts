import type { Page, Request } from "playwright-core";
import t from "tap";
import { texts } from "../../../../src/console/texts.ts";
import {
  button,
  expectErrors,
  failedLoad,
  fillSignIn,
  goTo,
  readClipboard,
  rowIds,
  rowsOf,
  untilRows,
  untilVisible,
} from "../../../fixtures/console/pages.ts";
import { type ConsoleSite, startConsoleSite } from "../../../fixtures/console/site.ts";
import { answerWith } from "../../../fixtures/events/client-backend.ts";
import { startTcpProxy } from "../../../fixtures/servers/tcp-proxy.ts";
import { until } from "../../../fixtures/until.ts";

const words = texts.events;
const STREAM = "/api/events/stream";
const LIST = "/api/webhooks/events";

/** A recipient with two events: the message is accepted, then fails. */
const FAILING = { to: "5511988880000" };

const pathOf = (request: Request) => new URL(request.url()).pathname;

const isStream = (request: Request) =>
  pathOf(request) === STREAM && request.headers().accept === "text/event-stream";

/** Where a request for events continues. */
const cursorOf = (request: Request) =>
  request.headers()["last-event-id"] ?? new URL(request.url()).searchParams.get("cursor");

const liveSwitch = (page: Page) => page.getByRole("switch");

/** Waits in real time: a stream that does not begin within 5 s of the page's clock is given up. */
const untilLive = (page: Page) => page.getByText(words.live.live, { exact: true }).waitFor();

const newRows = (page: Page, count: number) => button(page, texts.newRows(count, false));

/** Sends a message with two events and waits for the outcome of both. */
const sendTwoEvents = async (site: ConsoleSite) => site.untilDelivered(await site.send(FAILING), 2);

/** The items of the list below a heading of the screen of one event. */
const attemptsOf = (page: Page) =>
  page.getByRole("heading", { name: words.attemptsTitle }).locator("..").getByRole("listitem");

t.test("events in the console", async (t) => {
  const site = await startConsoleSite(t);
  const { page, backend } = site;
  await page.clock.install();

  t.test("an empty list shows events by itself", async (t) => {
    await site.open("/console/events");
    await page.getByText(words.none).waitFor();
    await untilLive(page);
    const sent = await sendTwoEvents(site);
    await untilVisible(page, rowsOf(page, words.title));
    if ((await rowIds(page, words.title)).length < 2) {
      await untilVisible(page, newRows(page, 1));
      await newRows(page, 1).click();
    }
    await untilRows(page, words.title, 2);
    t.same(
      await rowIds(page, words.title),
      sent.map(({ id }) => id),
    );
  });

  t.test("a filled list counts new events and keeps its rows in place", async (t) => {
    const before = await rowIds(page, words.title);
    const sent = await sendTwoEvents(site);
    await untilVisible(page, newRows(page, 2));
    t.same(await rowIds(page, words.title), before);
    await newRows(page, 2).click();
    await untilRows(page, words.title, 4);
    t.same(await rowIds(page, words.title), [...sent.map(({ id }) => id), ...before]);
    t.equal(await newRows(page, 2).count(), 0);
  });

  t.test("a paused list asks for no events", async (t) => {
    await liveSwitch(page).uncheck();
    await page.getByText(words.live.stopped, { exact: true }).waitFor();
    await page.clock.fastForward(10_000); // what was begun before
    const requests: string[] = [];
    const record = (request: Request) => {
      if ([STREAM, LIST].includes(pathOf(request))) requests.push(pathOf(request));
    };
    const before = await rowIds(page, words.title);
    page.on("request", record);
    await sendTwoEvents(site);
    await page.clock.fastForward(60_000);
    t.same(await rowIds(page, words.title), before);
    t.equal(await newRows(page, 2).count(), 0);
    t.same(requests, []);
    page.off("request", record);
    await liveSwitch(page).check();
    await untilLive(page);
    await untilVisible(page, newRows(page, 2));
    await newRows(page, 2).click();
  });

  t.test("while the stream is refused, new events are asked for", async (t) => {
    expectErrors(page, failedLoad(429));
    const refusal = { error: "rate_limited", message: "Too many streams", request_id: "req_1" };
    await page.route(`**${STREAM}*`, (route) =>
      isStream(route.request()) ? route.fulfill({ status: 429, json: refusal }) : route.continue(),
    );
    await page.reload();
    await untilVisible(page, page.getByText(words.live.polling, { exact: true }));
    await untilRows(page, words.title, 6);
    const before = await rowIds(page, words.title);
    const sent = await sendTwoEvents(site);
    await untilVisible(page, newRows(page, 2), 5_000);
    await newRows(page, 2).click();
    await untilRows(page, words.title, 8);
    t.same(await rowIds(page, words.title), [...sent.map(({ id }) => id), ...before]);
    await page.unroute(`**${STREAM}*`);
    const isStreaming = page.waitForRequest(isStream).then(() => true);
    await until("the stream is tried again", async () => {
      await page.clock.fastForward(5_000);
      return Promise.race([isStreaming, false]);
    });
    await untilLive(page);
  });

  t.test("a list whose connection breaks continues where it was", async (t) => {
    const proxy = await startTcpProxy(t, site.api.config.PUBLIC_URL);
    const behindProxy = await page.context().newPage();
    expectErrors(behindProxy, "net::ERR_");
    await behindProxy.goto(`${proxy.url}console/events`);
    await fillSignIn(behindProxy, site.owner.email);
    await untilLive(behindProxy);
    await rowsOf(behindProxy, words.title).first().waitFor();
    const before = await rowIds(behindProxy, words.title);
    const resumed = behindProxy.waitForRequest(
      (request) => pathOf(request) === STREAM && cursorOf(request) !== null,
    );
    proxy.freeze();
    proxy.cut();
    await behindProxy.getByText(words.live.connecting, { exact: true }).waitFor();
    const missed = await sendTwoEvents(site);
    proxy.thaw();
    await resumed;
    await untilVisible(behindProxy, newRows(behindProxy, 2));
    await newRows(behindProxy, 2).click();
    await untilRows(behindProxy, words.title, before.length + 2);
    t.same(await rowIds(behindProxy, words.title), [...missed.map(({ id }) => id), ...before]);
    await behindProxy.close();
  });

  t.test("failed events", async (t) => {
    backend.answer = answerWith(410, {}, "no such shop");
    const messageId = await site.send();
    const events = await site.untilDelivered(messageId, 4);
    backend.answer = answerWith(200, {}, "thanks");
    const [event, ...others] = events.map(({ id }) => id) as [string, ...string[]];
    const statusOf = async (id: string) => (await site.read(`${LIST}/${id}`)).status;
    const deliveriesTo = (ids: readonly string[]) =>
      backend.received.filter(({ id }) => ids.includes(id)).length - ids.length; // the first ones were refused

    t.test("an event shows its payload as a tree and as text, its headers and its attempts", async (t) => {
      await goTo(page, `/console/events/${event}`);
      const stored = await site.read(`${LIST}/${event}`);
      await attemptsOf(page).waitFor();
      t.match(await attemptsOf(page).textContent(), /^1.*failed.*410.*no such shop/);
      await page.getByTitle(texts.copy("message_id")).click();
      t.equal(await readClipboard(page), messageId, "a click copies a value of the tree");
      await page.getByLabel(texts.raw).check();
      const raw = await page.getByRole("region", { name: words.payload }).textContent();
      t.same(JSON.parse(raw ?? ""), stored.payload);
      for (const [name, value] of Object.entries(stored.headers))
        t.match(await page.getByRole("main").textContent(), `${name}${value}`);
      t.equal(
        await page.getByRole("link", { name: words.openMessage }).getAttribute("href"),
        `/console/messages/${messageId}`,
      );
    });

    t.test("a retry stays on the page, and the new attempt appears at the top", async (t) => {
      await button(page, words.retry.action).click();
      await untilVisible(page, attemptsOf(page).nth(1));
      const [newest = "", oldest = ""] = await attemptsOf(page).allTextContents();
      t.match(newest, /^2.*delivered.*200/);
      t.match(oldest, /^1.*failed.*410/);
      // The page may have read the event before the attempt was recorded, and the attempts after it.
      await untilVisible(page, page.locator("dd").getByText("delivered", { exact: true }));
      t.match(page.url(), new RegExp(`/console/events/${event}$`));
      t.equal(deliveriesTo([event]), 1);
    });

    t.test("a delivered event is sent again only after a question", async (t) => {
      await button(page, words.retry.action).click();
      const dialog = page.getByRole("dialog", { name: words.retry.deliveredTitle });
      await button(dialog, texts.cancel).click();
      await dialog.waitFor({ state: "detached" });
      t.equal(deliveriesTo([event]), 1);
      await button(page, words.retry.action).click();
      await button(dialog, words.retry.action).click();
      await untilVisible(page, attemptsOf(page).nth(2));
      t.equal(deliveriesTo([event]), 2);
    });

    t.test("selected events are sent again, and no others", async (t) => {
      await goTo(page, "/console/events?status=failed");
      await untilRows(page, words.title, 3);
      const chosen = others.slice(0, 2);
      for (const id of chosen) await page.getByLabel(texts.select(id)).check();
      await page.getByText(words.retry.selected(2)).waitFor();
      await button(page, words.retry.action).click();
      await page.getByText(words.retry.done(2, 0)).waitFor();
      await until("both are delivered", async () => {
        const statuses = await Promise.all(chosen.map(statusOf));
        return statuses.every((status) => status === "delivered");
      });
      t.equal(deliveriesTo(chosen), 2);
      t.equal(deliveriesTo(others.slice(2)), 0);
      await untilVisible(page, button(page, texts.changedRows));
      await button(page, texts.changedRows).click();
      await untilRows(page, words.title, 1);
    });

    t.test("all events that match the filters are sent again after their count was shown", async (t) => {
      const rest = others.slice(2);
      await button(page, words.retry.matching).click();
      const dialog = page.getByRole("dialog", { name: words.retry.matchingTitle("failed") });
      await dialog.getByText(words.retry.consequence(1)).waitFor();
      t.match(await dialog.textContent(), /message\.\w+1/, "the count by type");
      t.equal(deliveriesTo(rest), 0);
      await button(dialog, words.retry.count(1)).click();
      await page.getByText(words.retry.done(1, 0)).waitFor();
      await until("it is delivered", async () => (await statusOf(rest[0] as string)) === "delivered");
      t.equal(deliveriesTo(rest), 1);
      t.equal(deliveriesTo(events.map(({ id }) => id)), 5, "no other event is sent again");
      t.equal(await dialog.count(), 0);
    });
  });
});
