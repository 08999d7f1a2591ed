import type { Page } from "playwright-core";
import t from "tap";
import { adsTexts as words } from "../../../../src/console/texts/ads.ts";
import { overviewTexts } from "../../../../src/console/texts/overview.ts";
import { texts } from "../../../../src/console/texts.ts";
import {
  button,
  callFromPage,
  expectErrors,
  failedLoad,
  fillSignIn,
  goTo,
  heading,
  menu,
  openConsoleBrowser,
  rowsOf,
  signIn,
} from "../../../fixtures/console/pages.ts";
import { startApi } from "../../../fixtures/http/api.ts";
import { chooseAssets } from "../../../fixtures/http/browser.ts";
import { createFaultControls } from "../../../fixtures/platforms/platforms.ts";
import { startSandbox } from "../../../fixtures/sandbox/sandbox.ts";
import { makeTenant } from "../../../fixtures/tenants/tenants.ts";
import { createTermsClient, FIRST_TERMS_VERSION } from "../../../fixtures/tenants/terms.ts";
import { until } from "../../../fixtures/until.ts";

const [COFFEE, WHOLESALE] = ["1600000000000101", "1600000000000102"] as const;

const rowOf = (page: Page, accountId: string) =>
  rowsOf(page, words.accounts).filter({ hasText: `act_${accountId}` });

/** Waits for the platform's login dialog, grants access to the accounts there, and comes back. */
async function grant(page: Page, accounts: readonly string[]): Promise<void> {
  await page.locator("[data-action=grant]").waitFor();
  await chooseAssets(page, accounts);
  await page.locator("[data-action=grant]").click();
}

t.test("advertising in the console", async (t) => {
  const sandbox = await startSandbox(t);
  const [api, openPage] = await Promise.all([
    startApi(t, { settings: sandbox.serviceSettings }),
    openConsoleBrowser(t),
  ]);
  const { arm, clearFaults } = createFaultControls(sandbox);
  const terms = createTermsClient(api);
  const tenant = await makeTenant(api, "Corner shop");
  const [owner, member, viewer] = [
    await tenant.createUser("owner"),
    await tenant.createUser("member"),
    await tenant.createUser("viewer"),
  ];
  const page = await openPage();
  let returnedTo = "";
  const statusOf = async (accountId: string) =>
    (await api.call("GET", `/api/marketing/ad-accounts/act_${accountId}`, owner)).body.status;
  // The platform's dialog is at localhost, the console at 127.0.0.1: the way back comes from another site.
  t.equal(new URL(api.address).hostname, "127.0.0.1");
  t.equal(new URL(api.config.AD_DIALOG_URL).hostname, "localhost");

  t.test("a member reads the terms, and is told who can accept them", async (t) => {
    const other = await openPage();
    await signIn(other, member, `${api.address}/console/ads`);
    await other.getByText(words.terms.needed).waitFor();
    t.equal(await button(other, words.connect).count(), 0);
    await other.getByRole("link", { name: words.terms.show }).click();
    await other.getByText(words.terms.onlyManagers).waitFor();
    t.equal(await button(other, words.terms.action).count(), 0);
    await other.context().close();
  });

  t.test("an owner reads and accepts the terms", async (t) => {
    await signIn(page, owner, `${api.address}/console/ads`);
    await page.getByRole("link", { name: words.terms.read }).click();
    const { text } = (await terms.text(owner.headers)).body;
    await page.getByLabel(words.terms.consent("Corner shop")).waitFor();
    t.match(await page.getByRole("main").textContent(), text);
    await button(page, words.terms.action).click();
    t.equal((await terms.status(owner.headers)).body.accepted, false, "the box is not ticked");
    await page.getByLabel(words.terms.consent("Corner shop")).check();
    await button(page, words.terms.action).click();
    await page.getByText(words.terms.acceptedBy).waitFor();
    t.match((await terms.status(owner.headers)).body, {
      version: FIRST_TERMS_VERSION,
      accepted: true,
      accepted_by: { user_id: owner.id },
    });
    t.match(await page.getByRole("main").textContent(), owner.email);
    await page.getByRole("link", { name: words.terms.next }).click();
    await page.getByText(words.none).waitFor();
  });

  t.test("ad accounts are connected by the platform's login, which returns without the cookie", async (t) => {
    const later = await page.context().newPage();
    await later.goto(`${api.address}/console/ads`);
    const request = page.waitForRequest((request) => request.url().includes("/console/oauth?"));
    await button(page, words.connect).click();
    await page.locator("[data-action=grant]").waitFor();
    await button(later, words.connect).click();
    await later.locator("[data-action=grant]").waitFor();
    await later.close();
    await grant(page, [COFFEE, WHOLESALE]);
    t.equal((await (await request).allHeaders()).cookie, undefined);
    returnedTo = (await request).url();
    await page.getByText(words.login.done(2)).waitFor();
    t.equal(page.url(), `${api.address}/console/ads/connect`, "the code is no longer in the address");
    t.match(await rowOf(page, COFFEE).textContent(), words.statuses.available);
    await button(rowOf(page, COFFEE), words.activate).click();
    await button(rowOf(page, COFFEE), words.disable.action).waitFor();
    t.same([await statusOf(COFFEE), await statusOf(WHOLESALE)], ["active", "available"]);
  });

  t.test("a completed login is not repeated by a reload or the way back", async () => {
    await page.reload();
    await page.getByText(words.login.notBegun).waitFor();
    await page.goto(returnedTo);
    await page.getByText(words.login.otherBrowser).waitFor();
    await page.getByRole("main").getByRole("link", { name: words.login.all }).click();
    await rowOf(page, WHOLESALE).waitFor();
  });

  t.test("a login without consent says why nothing was connected, and begins again", async (t) => {
    await button(page, words.connect).click();
    await page.locator("[data-action=cancel]").click();
    await page.getByText(words.login.denied).waitFor();
    t.match(await page.getByRole("main").textContent(), "Permissions error");
    await button(page, words.reconnect).click();
    await page.locator("[data-permission=ads_management]").uncheck();
    expectErrors(page, failedLoad(400));
    await grant(page, [COFFEE]);
    await page.getByRole("alert").waitFor();
    t.match(await page.getByRole("alert").textContent(), "ads_management");
    await page.getByText(words.login.failed).waitFor();
  });

  t.test("a person whose session has ended meanwhile signs in first", async (t) => {
    await button(page, words.reconnect).click();
    await page.locator("[data-action=grant]").waitFor();
    const { data } = (await api.call("GET", "/api/auth/sessions", owner)).body;
    for (const { id, current } of data)
      if (!current) await api.call("DELETE", `/api/auth/sessions/${id}`, owner);
    expectErrors(page, failedLoad(401));
    await grant(page, [COFFEE]);
    await heading(page, texts.signIn.title).waitFor();
    await fillSignIn(page, owner.email);
    await page.getByText(words.login.done(1)).waitFor();
    t.equal(await statusOf(COFFEE), "active", "the account keeps its state");
  });

  t.test(
    "a login that the console has not begun shows the command, also to a person who is signed in",
    async (t) => {
      const { url } = (await api.call("GET", "/api/marketing/oauth/url", owner)).body;
      const ownRedirect = new URL(url);
      ownRedirect.searchParams.set("redirect_uri", `${api.address}/console/oauth`);
      await page.goto(ownRedirect.href);
      await grant(page, [COFFEE]);
      await page.locator("#command").waitFor();
      t.match(page.url(), `${api.address}/console/oauth?`);
      const { searchParams } = new URL(page.url());
      await page.goto(`${api.address}/console/ads/connect?${searchParams}`);
      await page.getByText(words.login.otherBrowser).waitFor();
    },
  );

  t.test("an account is disabled after a question, and found by its name", async (t) => {
    await goTo(page, "/console/ads");
    await button(rowOf(page, COFFEE), words.disable.action).click();
    const dialog = page.getByRole("dialog");
    t.match(await dialog.textContent(), words.disable.consequence);
    await button(dialog, words.disable.action).click();
    await rowOf(page, COFFEE).getByText(words.statuses.disabled, { exact: true }).waitFor();
    t.equal(await statusOf(COFFEE), "disabled");
    await page.getByLabel(words.search).fill("wholesale");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\?q=wholesale$/);
    await until("one account is shown", async () => (await rowsOf(page, words.accounts).count()) === 1);
  });

  t.test("an account whose access ended says so, and is connected again", async (t) => {
    await goTo(page, "/console/ads");
    await arm({ kind: "dead_token", match: { path_prefix: `/act_${WHOLESALE}` } });
    expectErrors(page, failedLoad(409));
    await button(rowOf(page, WHOLESALE), words.refresh).click();
    await rowOf(page, WHOLESALE).getByText(words.statuses.revoked).waitFor();
    await rowOf(page, WHOLESALE).getByText(words.revokedHint).waitFor();
    await clearFaults();
    await goTo(page, "/console");
    await page.getByText(overviewTexts.attention.see.accounts).waitFor();
    await page.getByText(overviewTexts.attention.see.accounts).click();
    await button(rowOf(page, WHOLESALE), words.reconnect).click();
    await grant(page, [WHOLESALE]);
    await page.getByText(words.login.done(1)).waitFor();
    t.equal(await statusOf(WHOLESALE), "available");
  });

  t.test("newly published terms are announced, and read anew before they are accepted", async (t) => {
    await terms.publish("2026-12-01", "The second text");
    await goTo(page, "/console");
    await page.getByText(overviewTexts.attention.terms("2026-12-01")).waitFor();
    await page.getByRole("link", { name: overviewTexts.attention.see.terms }).last().click();
    await page.getByText("The second text").waitFor();
    await terms.publish("2026-12-02", "The third text");
    await page.getByLabel(words.terms.consent("Corner shop")).check();
    await button(page, words.terms.action).click();
    await page.getByText("The third text").waitFor();
    await page.getByText("The version in force is 2026-12-02").waitFor();
    t.equal((await terms.status(owner.headers)).body.accepted, false);
    t.notOk(await page.getByLabel(words.terms.consent("Corner shop")).isChecked());
    await page.getByLabel(words.terms.consent("Corner shop")).check();
    await button(page, words.terms.action).click();
    await page.getByText(words.terms.acceptedBy).waitFor();
    t.equal((await terms.status(owner.headers)).body.accepted, true);
  });

  t.test("a viewer reads accounts and terms, and changes nothing", async (t) => {
    const other = await openPage();
    await signIn(other, viewer, `${api.address}/console`);
    t.same(await menu(other).getByRole("listitem").allTextContents(), [overviewTexts.title, words.title]);
    await menu(other).getByRole("link", { name: words.title }).click();
    await rowOf(other, COFFEE).waitFor();
    t.equal(await other.getByRole("main").getByRole("button").count(), 0);
    await goTo(other, "/console/ads/terms");
    await other.getByText("The third text").waitFor();
    t.equal(await button(other, words.terms.action).count(), 0);
    await goTo(other, "/console/ads/connect");
    await other.getByText(texts.notAllowed.text).waitFor();
    expectErrors(other, failedLoad(403));
    for (const [method, path] of [
      ["PATCH", `/api/marketing/ad-accounts/act_${COFFEE}`],
      ["POST", "/api/marketing/terms/accept"],
      ["GET", "/api/marketing/oauth/url"],
    ] as const)
      t.equal(await callFromPage(other, method, path), 403, path);
  });
});
