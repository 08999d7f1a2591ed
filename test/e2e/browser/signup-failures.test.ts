import t from "tap";
import { checkAccessibility } from "../../fixtures/embed/accessibility.ts";
import {
  grantAccess,
  type HostPage,
  openDialog,
  signupFrame,
  startSignupSite,
  untilShown,
} from "../../fixtures/embed/signup-site.ts";
import { callSandbox } from "../../fixtures/sandbox/sandbox.ts";
import { until } from "../../fixtures/until.ts";

/**
 * A call whose fault lets one server step fail, and a part of the text that explains it: a step of the platform and one
 * of our own. test/resources/embed/step-failures.test.ts lets each step fail; the compiler asks for each text.
 */
const STEP_FAULTS: { step: string; path?: string; text: string }[] = [
  { step: "exchange", path: "/oauth/access_token", text: "could not be confirmed" },
  { step: "store", text: "went wrong on our side" },
];

/** Lets Postgres refuse every new channel. */
const REFUSE_CHANNELS = "alter table channels add constraint refused check (false) not valid";
const ACCEPT_CHANNELS = "alter table channels drop constraint refused";

const EXPIRED = "This link has expired";

const REVOKED = {
  change: "status = 'revoked', revoked_at = now()",
  text: "This link is no longer valid",
};

const LINK_ENDS = [{ change: "expires_at = now()", text: EXPIRED }, REVOKED];

const headingOf = ({ frame }: HostPage) => frame.locator("h1");

/** Asks the server at once, as after a lost connection. */
const comeBackOnline = ({ page }: HostPage) =>
  signupFrame(page).evaluate(() => void window.dispatchEvent(new Event("online")));

/** Waits until the page has looked at its window often enough: a later timer with its interval fires as often. */
const untilWindowSeen = ({ page }: HostPage) =>
  signupFrame(page).evaluate(
    () =>
      new Promise<void>((resolve) => {
        let left = 10;
        const timer = setInterval(() => {
          left -= 1;
          if (left > 0) return;
          clearInterval(timer);
          resolve();
        }, 250);
      }),
  );

t.test("a signup that does not succeed", async (t) => {
  const site = await startSignupSite(t);
  const { api, sandbox, page, createSession, readSession, openHost, arm } = site;

  t.test("a customer tries again after failed steps and closed, declined and blocked windows", async (t) => {
    const session = await createSession({ platforms: ["chatapp", "socialapp"] });
    const signup = await openHost(session);
    for (const [index, { step, path, text }] of STEP_FAULTS.entries()) {
      if (path !== undefined) await arm({ kind: "error", code: 100, match: { path } });
      else await api.db.query(REFUSE_CHANNELS);
      await grantAccess(await openDialog(signup));
      await comeBackOnline(signup);
      const { data } = await signup.waitForMessage("failed", index);
      t.equal(data.error.step, step);
      await untilShown(signup.frame.locator(".problem"), text);
      t.match(await readSession(session.id), { status: "failed", error: data.error });
    }
    await api.db.query(ACCEPT_CHANNELS);
    await checkAccessibility(t, signup.page, "failed");

    const abandoned = await openDialog(signup);
    await abandoned.locator("[data-action=grant]").waitFor();
    await signup.frame.locator("[data-action=cancel]").click();
    await signup.waitForMessage("cancelled");
    await abandoned.close();
    await untilShown(signup.frame.locator(".notice"), "Nothing was connected");
    t.match(await readSession(session.id), { status: "opened", error: null });
    await checkAccessibility(t, signup.page, "cancelled");

    const declined = await openDialog(signup);
    await Promise.all([declined.waitForEvent("close"), declined.locator("[data-action=cancel]").click()]);
    await signup.waitForMessage("cancelled", 1);
    t.match(await readSession(session.id), { status: "opened", error: null });
    await signup.frame.locator("[data-platform=socialapp]").waitFor();
    t.equal(await signup.frame.locator("[data-platform]").count(), 2, "both platforms are offered again");

    const opened: unknown[] = [];
    await signup.page.exposeFunction("reportOpening", (eventType: unknown) => void opened.push(eventType));
    await signupFrame(signup.page).evaluate(() => {
      const { reportOpening } = window as unknown as { reportOpening(eventType: unknown): void };
      window.open = () => {
        reportOpening(window.event?.type);
        return null; // what a popup blocker makes of it
      };
    });
    await signup.frame.locator("[data-platform=chatapp]").click();
    await signup.frame.locator("[data-action=open]").waitFor();
    t.same(opened, ["click"], "the window opens in the click: later, every browser would block it");
    await untilShown(headingOf(signup), "Your browser blocked the new window");
    await checkAccessibility(t, signup.page, "blocked");
    const popup = await openDialog(signup, "[data-action=open]");
    await popup.locator("[data-action=grant]").click();
    await signup.waitForMessage("completed");
    t.match(await readSession(session.id), { status: "completed", error: null });
    const channels = await api.db.query("select 1 from channels where client_id = $1", [site.tenant.id]);
    t.equal(channels.length, 1, "the failed tries left no channel");
    await until(
      "the window says that it can be closed",
      async () =>
        popup.isClosed() || (await popup.locator("h1").textContent()) === "You can close this window",
    );
  });

  t.test(
    "after a failure the same platform is the first choice, also when the page is loaded again",
    async (t) => {
      const session = await createSession({ platforms: ["chatapp", "photoapp", "socialapp"] });
      const signup = await openHost(session);
      const dialog = await openDialog(signup, "[data-platform=photoapp]");
      await arm({ kind: "error", code: 100, match: { path: "/oauth/access_token" } });
      await grantAccess(dialog);
      await signup.waitForMessage("failed");
      const offered = signup.frame.locator("[data-platform]");
      for (const isReloaded of [false, true]) {
        if (isReloaded) await signup.page.reload();
        await untilShown(offered.first(), "Try again");
        const platforms = await offered.evaluateAll((all) => all.map((button) => button.dataset.platform));
        t.same(platforms, ["photoapp", "chatapp", "socialapp"]);
        t.equal(await signup.frame.locator(".primary").count(), 1);
      }
    },
  );

  t.test(
    "the host learns at once that the window was closed, and the dialog can still lead back",
    async (t) => {
      const session = await createSession();
      const signup = await openHost(session);
      const popup = await openDialog(signup);
      await popup.locator("[data-action=grant]").waitFor();
      const dialogUrl = popup.url();
      await untilWindowSeen(signup);
      await popup.close();
      await signup.waitForMessage("cancelled");
      await untilShown(signup.frame.locator(".notice"), "Nothing was connected");
      await signup.frame.locator("[data-platform]").waitFor();
      t.match(await readSession(session.id), { status: "opened", error: null });

      // The same dialog in a window that the page does not know.
      const other = await site.openPage();
      await other.goto(dialogUrl);
      await other.locator("[data-action=grant]").click();
      await untilShown(other.locator("h1"), "You can close this window");
      await comeBackOnline(signup);
      await signup.waitForMessage("completed");
      const types = (await signup.messages()).map(({ data }) => data.type);
      t.equal(types.filter((type) => type === "cancelled").length, 1, "the host was told once");
    },
  );

  t.test("a signup that is cancelled before its dialog is known closes the empty window", async (t) => {
    const session = await createSession();
    const signup = await openHost(session, await site.openPage());
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    await signup.page.context().route("**/tries", async (route) => {
      await held;
      await route.continue();
    });
    const popup = await openDialog(signup);
    await Promise.all([popup.waitForEvent("close"), signup.frame.locator("[data-action=cancel]").click()]);
    release();
    await signup.waitForMessage("cancelled");
    await untilShown(signup.frame.locator(".notice"), "Nothing was connected");
    t.match(await readSession(session.id), { status: "opened", error: null });
    await signup.page.context().close();
  });

  t.test("a page without a connection says so and continues when it is back", async () => {
    const signup = await openHost(await createSession());
    await signup.waitForMessage("loaded");
    await signup.page.context().setOffline(true);
    for (const _ of [1, 2]) await comeBackOnline(signup);
    await untilShown(signup.frame.getByRole("status"), "no connection");
    await signup.frame.locator("[data-platform]").click();
    await untilShown(signup.frame.locator(".notice"), "could not be opened");
    await signup.page.context().setOffline(false);
    const popup = await openDialog(signup);
    await popup.locator("[data-action=grant]").waitFor();
    await untilShown(headingOf(signup), "Continue in the new window");
    await popup.close();
  });

  t.test("a link that ends while the page is open, and one that has ended before", async (t) => {
    for (const { change, text } of LINK_ENDS) {
      const session = await createSession({ platforms: ["photoapp"] });
      const signup = await openHost(session);
      await signup.waitForMessage("loaded");
      await api.db.query(`update embed_sessions set ${change} where id = $1`, [session.id]);
      await comeBackOnline(signup);
      await untilShown(headingOf(signup), text);
      if (text === EXPIRED) await checkAccessibility(t, signup.page, "expired");
      await signup.page.reload();
      await untilShown(headingOf(signup), text);
      t.equal(await signup.frame.locator("button").count(), 0);
    }
    t.equal((await page.goto(`${api.config.PUBLIC_URL}/embed/${"x".repeat(43)}`))?.status(), 404);
    t.match(await page.locator("h1").textContent(), "This link does not work");
  });

  t.test(
    "the window of a session that was revoked meanwhile says that the link is no longer valid",
    async (t) => {
      const session = await createSession({ locale: "es" });
      const signup = await openHost(session);
      const popup = await openDialog(signup);
      await popup.locator("[data-action=grant]").waitFor();
      await api.db.query(`update embed_sessions set ${REVOKED.change} where id = $1`, [session.id]);
      await popup.locator("[data-action=grant]").click();
      await untilShown(popup.locator("h1"), "Este enlace ya no es válido");
      t.match(await readSession(session.id), { status: "revoked", result: null });
      await popup.close();
    },
  );

  t.test("a click on a link that has just been revoked opens no dialog", async (t) => {
    const session = await createSession();
    const signup = await openHost(session);
    await signup.waitForMessage("loaded");
    await api.db.query(`update embed_sessions set ${REVOKED.change} where id = $1`, [session.id]);
    const popup = await openDialog(signup);
    await untilShown(headingOf(signup), REVOKED.text);
    await until("the window is closed", async () => popup.isClosed());
    t.equal(await signup.frame.locator(".notice").count(), 0, "it does not say that the service is down");
  });

  t.test("the window of a forged or used answer says that it is out of date", async (t) => {
    await page.goto(`${api.config.PUBLIC_URL}/embed/callback?state=forged&code=forged-code`);
    await untilShown(page.locator("h1"), "This window is out of date");
    t.equal(new URL(page.url()).search, "", "the code has left the address");
    const { body } = await callSandbox(`${sandbox.origin}/_sandbox/requests`);
    t.notMatch(JSON.stringify(body), "forged-code", "no platform was called");
  });
});
