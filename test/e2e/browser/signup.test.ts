import type { Page } from "playwright-core";
import t from "tap";
import { checkAccessibility } from "../../fixtures/embed/accessibility.ts";
import {
  grantAccess,
  openDialog,
  openHostPage,
  signupFrame,
  startSignupSite,
  untilShown,
} from "../../fixtures/embed/signup-site.ts";
import { sharedBrowser } from "../../fixtures/http/browser.ts";
import { OTHER_WABA_ID, PAGE_ID, PHONE_NUMBER_ID, PIN_NUMBER_ID } from "../../fixtures/sandbox/assets.ts";
import { until } from "../../fixtures/until.ts";

const [TEA_PAGE_ID, TEA_PHOTO_ID] = ["1300000000000402", "1200000000000502"];
const PIN = "135790";

/** The text of the element that has the focus in the frame. */
const focusedText = (page: Page) =>
  signupFrame(page).evaluate(() => {
    const { activeElement } = document;
    return activeElement?.textContent || activeElement?.getAttribute("name") || "";
  });

const untilFocused = (page: Page, text: string) =>
  until(`"${text}" has the focus`, async () => (await focusedText(page)) === text);

t.test("a customer connects channels on an embedded page", async (t) => {
  const site = await startSignupSite(t);
  const { api, host, createSession, readSession, openHost } = site;

  t.test("one click in the sandbox's demo connects a phone number and tells the host", async (t) => {
    const signup = await openHostPage(site.page, `${site.sandbox.origin}/_sandbox/signup`);
    const { data: loaded } = await signup.waitForMessage("loaded");
    const { id } = (await api.db.query<{ id: string }>("select id from embed_sessions"))[0] as { id: string };
    t.match(loaded, { source: "svc-embed", version: 1, session_id: id, external_ref: "sandbox-demo" });
    t.match(await readSession(id), { status: "opened", opened_at: String });
    t.match(await signup.frame.locator(".prefill").textContent(), /Filled in for you.*Sandbox Coffee Ltda/);
    const offered = await signup.frame.locator("[data-platform]").all();
    t.same(await Promise.all(offered.map((button) => button.getAttribute("data-platform"))), [
      "chatapp",
      "photoapp",
      "socialapp",
    ]);
    await checkAccessibility(t, signup.page, "start");

    const popup = await openDialog(signup);
    await popup.locator("[data-action=grant]").waitFor();
    t.match(await popup.locator("main").textContent(), /Business: Sandbox Coffee Ltda/);
    t.equal(await popup.evaluate(() => window.opener), null, "the dialog cannot reach the page");
    await untilFocused(signup.page, "Continue in the new window");
    await checkAccessibility(t, signup.page, "waiting");
    await grantAccess(popup);

    const { origin, data: completed } = await signup.waitForMessage("completed");
    t.equal(origin, api.config.PUBLIC_URL);
    const session = await readSession(id);
    t.match(session, { status: "completed", result: { phone_number_id: PHONE_NUMBER_ID } });
    t.same(completed.result, session.result);
    await untilShown(signup.page.locator("#outcome"), `Connected: ${session.result.channel.channel_id}`);
    await untilFocused(signup.page, "Connected");
    await checkAccessibility(t, signup.page, "completed");
    const messages = JSON.stringify(await signup.messages());
    const token = new URL(signupFrame(signup.page).url()).pathname.split("/").at(-1) as string;
    for (const secret of [token, "EAA", site.api.config.PLATFORM_APP_SECRET]) t.notMatch(messages, secret);
    const heights = async () =>
      (await signup.messages()).flatMap(({ data }) => (data.type === "resize" ? [data.height] : []));
    await until("the host learns each height", async () => (await heights()).length > 1);
    t.ok((await heights()).every((height) => height > 100));

    const again = await signup.page.goto(signupFrame(signup.page).url());
    t.equal(again?.status(), 410);
    t.match(await signup.page.locator("h1").textContent(), "This is already done");
    t.equal((await signup.page.context().cookies()).length, 0);
  });

  t.test(
    "a customer connects a page in an isolated dialog, and a photo account out of several",
    async (t) => {
      const connectPage = async () => {
        const session = await createSession({ platforms: ["socialapp"], external_ref: "shop-7" });
        const signup = await openHost(session, await site.openPage({ locale: "pt-BR" }));
        await signup.page.context().route(/\/dialog\/signup\?/, async (route) => {
          const response = await route.fetch();
          const headers = { ...response.headers(), "cross-origin-opener-policy": "same-origin" };
          await route.fulfill({ response, headers });
        });
        const popup = await openDialog(signup);
        await popup.locator("[data-action=grant]").waitFor();
        // The dialog looks closed, but its try continues.
        await untilShown(signup.frame.getByRole("status"), "parece estar fechada");
        await popup.locator("[data-action=grant]").click();
        t.match((await signup.waitForMessage("completed")).data, { external_ref: "shop-7" });
        t.notOk((await signup.messages()).some(({ data }) => data.type === "cancelled"));
        await untilShown(signup.frame.locator("h1"), "Conectado");
        const { status, result } = await readSession(session.id);
        t.equal(status, "completed");
        t.match(result.channel, { platform: "socialapp", page_id: PAGE_ID });
        await signup.page.context().close();
      };
      const connectPhotoAccount = async () => {
        const session = await createSession({ platforms: ["photoapp", "socialapp"] });
        const signup = await openHost(session, await site.openPage({ locale: "es-MX" }));
        await grantAccess(await openDialog(signup), [PAGE_ID, TEA_PAGE_ID]);
        await signup.frame.locator(`[data-asset="${TEA_PHOTO_ID}"]`).check();
        t.match(await signup.frame.locator("h1").textContent(), "¿Qué cuenta de fotos quieres conectar?");
        await signup.frame.locator("[data-action=confirm]").click();
        await signup.waitForMessage("completed");
        const { channel } = (await readSession(session.id)).result;
        t.match(channel, { platform: "photoapp", photoapp_user_id: TEA_PHOTO_ID, page_id: TEA_PAGE_ID });
        await signup.page.context().close();
      };
      await Promise.all([connectPage(), connectPhotoAccount()]);
    },
  );

  t.test("a customer with a keyboard only chooses one of several numbers and enters its PIN", async (t) => {
    const session = await createSession();
    const signup = await openHost(session);
    const { page, frame } = signup;
    await signup.waitForMessage("loaded");
    await checkAccessibility(t, page, "one platform");
    await page.keyboard.press("Tab");
    const [popup] = await Promise.all([page.waitForEvent("popup"), page.keyboard.press("Enter")]);
    await grantAccess(popup, [OTHER_WABA_ID]);
    await frame.locator("[data-asset]").first().waitFor();
    await untilFocused(page, "Which phone number do you want to connect?");
    await checkAccessibility(t, page, "choosing");
    await page.bringToFront();
    await page.keyboard.press("Tab");
    await page.keyboard.press("ArrowDown");
    t.ok(await frame.locator(`[data-asset="${PIN_NUMBER_ID}"]`).isChecked());
    await page.keyboard.press("Enter");

    await frame.locator("[name=pin]").waitFor();
    await untilFocused(page, "pin");
    t.match(await frame.locator("#pin-number").textContent(), /1 555-010-0303.*Sandbox Tea Support/);
    t.equal(await frame.locator("[name=pin]").getAttribute("inputmode"), "numeric");
    await page.keyboard.type("12345");
    await page.keyboard.press("Enter");
    await untilShown(frame.getByRole("alert"), "exactly 6 digits");
    await page.keyboard.type("6");
    await page.keyboard.press("Enter");
    await untilShown(frame.getByRole("alert"), "2 tries left");
    await untilFocused(page, "pin");
    t.equal(await frame.locator("[name=pin]").inputValue(), "", "the field is empty again");
    await checkAccessibility(t, page, "pin");
    await page.keyboard.type(PIN);
    await page.keyboard.press("Enter");
    await signup.waitForMessage("completed");
    t.match((await readSession(session.id)).result, { phone_number_id: PIN_NUMBER_ID });
  });

  t.test("a host on another origin cannot show the page and learns nothing", async (t) => {
    const session = await createSession();
    const context = await (await sharedBrowser()).newContext(); // without the checks of openPage
    const page = await context.newPage();
    const refused = page.waitForEvent("console", (line) => line.text().includes("frame-ancestors"));
    const signup = await openHostPage(page, host.otherOrigin + host.add(session));
    await refused;
    t.equal(await signup.frame.locator("[data-platform]").count(), 0);
    t.same(await signup.messages(), []);
    t.match(await readSession(session.id), { status: "pending" });

    // A browser that ignores the policy shows the page; its messages still go to the allowed origins only.
    await page.route("**/embed/*", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, headers: { ...response.headers(), "content-security-policy": "" } });
    });
    const shown = await openHostPage(page, host.otherOrigin + host.add(session));
    await shown.frame.locator("[data-platform]").waitFor();
    await until("the page is opened", async () => (await readSession(session.id)).status === "opened");
    t.same(await shown.messages(), []);
    await context.close();
  });
});
