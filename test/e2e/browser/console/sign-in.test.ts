import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import t, { type Test } from "tap";
import { overviewTexts } from "../../../../src/console/texts/overview.ts";
import { texts } from "../../../../src/console/texts.ts";
import {
  button,
  callFromPage,
  expectErrors,
  failedLoad,
  fillSignIn,
  heading,
  menu,
  openConsoleBrowser,
  rowsOf,
  signIn,
  untilRows,
} from "../../../fixtures/console/pages.ts";
import { makeEvents, readDelivery, updateDelivery } from "../../../fixtures/events/events.ts";
import { startApi } from "../../../fixtures/http/api.ts";
import { sharedBrowser } from "../../../fixtures/http/browser.ts";
import { startIdentityProvider } from "../../../fixtures/tenants/identity-provider.ts";
import { makeTenant, PASSWORD } from "../../../fixtures/tenants/tenants.ts";
import { until } from "../../../fixtures/until.ts";

const COOKIE = "herald_console";
const FAILED_MESSAGES = "/console/messages?status=failed";

/** The list of messages asks again after this time. */
const LIST_REFRESH_MS = 5_000;

const openUserMenu = (page: Page, name: string) => page.getByText(name, { exact: true }).click();

t.test("people sign in to the console", async (t) => {
  const [api, openPage] = await Promise.all([startApi(t), openConsoleBrowser(t)]);
  const tenant = await makeTenant(api, "Corner shop");
  const [owner, viewer] = [await tenant.createUser("owner"), await tenant.createUser("viewer")];
  const page = await openPage();

  t.test("a wrong password is refused with the server's message", async (t) => {
    await page.goto(`${api.address}/console`);
    await heading(page, texts.signIn.title).waitFor();
    expectErrors(page, failedLoad(401));
    await fillSignIn(page, owner.email, `${PASSWORD} but wrong`);
    const alert = page.getByRole("alert");
    await alert.waitFor();
    t.match(await alert.textContent(), /The email or the password is wrong.*Request req_/);
    t.equal((await page.context().cookies()).length, 0);
  });

  t.test(
    "the right password leads to the first screen, with a cookie that scripts cannot read",
    async (t) => {
      await fillSignIn(page, owner.email);
      await heading(page, overviewTexts.title).waitFor();
      t.equal(new URL(page.url()).pathname, "/console");
      t.match(await menu(page).textContent(), "Corner shop");
      const [cookie] = await page.context().cookies();
      t.match(cookie, { name: COOKIE, httpOnly: true, sameSite: "Strict", path: "/" });
      t.equal(await page.evaluate(() => document.cookie), "");
      t.notMatch(await page.evaluate(() => JSON.stringify({ ...localStorage })), /eyJ/, "no token is stored");
    },
  );

  t.test(
    "an ended session leads to sign-in, and then back to the same address with its filters",
    async (t) => {
      const other = await openPage();
      await other.clock.install();
      await signIn(other, owner, api.address + FAILED_MESSAGES);
      await page.goto(`${api.address}/console/sessions`);
      await untilRows(page, texts.sessions.title, 2);
      const current = rowsOf(page, texts.sessions.title).filter({ hasText: texts.sessions.current });
      t.equal(await current.count(), 1);
      t.match(await current.textContent(), /Chrome, Linux.*127\.0\.0\.1/);
      expectErrors(other, failedLoad(401));
      await button(page, texts.sessions.end).click();
      await untilRows(page, texts.sessions.title, 1);

      await other.clock.fastForward(LIST_REFRESH_MS);
      await other.getByText(texts.signIn.ended).waitFor();
      t.equal(other.url(), api.address + FAILED_MESSAGES);
      await fillSignIn(other, owner.email);
      await heading(other, texts.messages.title).waitFor();
      t.equal(other.url(), api.address + FAILED_MESSAGES);
      t.equal(await other.getByLabel(texts.messages.columns.status).inputValue(), "failed");
      await other.context().close();
    },
  );

  t.test("after signing out, neither a reload nor the way back shows a screen", async (t) => {
    await openUserMenu(page, "A test's owner");
    await button(page.getByRole("banner"), texts.signOut).click();
    await heading(page, texts.signIn.title).waitFor();
    t.equal((await page.context().cookies()).length, 0);
    await page.reload();
    await heading(page, texts.signIn.title).waitFor();
    await page.goBack();
    await heading(page, texts.signIn.title).waitFor();
    t.equal(await menu(page).count(), 0);
  });

  t.test("a viewer sees neither messages nor events, and the server refuses them", async (t) => {
    await signIn(page, viewer, `${api.address}/console`);
    await heading(page, overviewTexts.title).waitFor();
    t.same(await menu(page).getByRole("listitem").allTextContents(), [
      overviewTexts.title,
      texts.menuEntries.ads,
    ]);
    for (const path of [
      "/console/messages",
      "/console/messages/new",
      "/console/events",
      "/console/events/evt_1",
    ]) {
      await page.goto(api.address + path);
      await heading(page, texts.notAllowed.title).waitFor();
      t.match(await page.getByRole("main").textContent(), texts.notAllowed.text, path);
    }
    expectErrors(page, failedLoad(403));
    for (const path of ["/api/outbound/messages", "/api/webhooks/events", "/api/events/stream"])
      t.equal(await callFromPage(page, "GET", path), 403, path);
    t.equal(await callFromPage(page, "GET", "/api/auth/me"), 200);
  });

  t.test("the cookie without the console's header is no credential", async (t) => {
    t.equal(await callFromPage(page, "GET", "/api/auth/me", {}), 401);
    t.equal(await callFromPage(page, "POST", "/api/webhooks/events/evt_1/retry", {}), 401);
  });
});

t.test("people with an identity provider sign in there", async (t) => {
  const provider = await startIdentityProvider(t);
  const settings = { ...provider.settings, JWT_SECRET: "" };
  const [api, openPage] = await Promise.all([startApi(t, { settings }), openConsoleBrowser(t)]);
  const key = await provider.addKey("ES256");
  const tenant = await makeTenant(api, "Corner shop");
  const page = await openPage();
  expectErrors(page, failedLoad(401));
  await page.goto(`${api.address}/console/messages`);
  await page.getByText(texts.signIn.provider).waitFor();
  t.equal(await page.getByRole("link").getAttribute("href"), provider.settings.JWT_ISSUER);
  t.equal(await page.getByRole("textbox").count(), 0);
  t.equal(await page.getByLabel(texts.signIn.password).count(), 0);

  const token = await key.sign({ client_id: tenant.id, role: "owner", name: "Ann" });
  await page.context().addCookies([{ name: COOKIE, value: token, url: api.address, sameSite: "Strict" }]);
  await button(page, texts.signIn.continueAction).click();
  await heading(page, texts.messages.title).waitFor();
  expectErrors(page, failedLoad(404));
  await page.goto(`${api.address}/console/sessions`);
  await page.getByText(texts.sessions.none).waitFor();
});

/** Serves an empty page at two origins: one shares the site of 127.0.0.1, where a browser sends the cookie, one does not. */
async function startOtherOrigins(t: Test) {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Elsewhere</title>");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  return [`http://127.0.0.1:${port}`, `http://localhost:${port}`];
}

/** Reads and writes with the visitor's cookie in each way that a page may try; returns what it could read. */
const attack = (page: Page, address: string, eventId: string) =>
  page.evaluate(
    async ([address, eventId]) => {
      const read = (path: string, init: RequestInit = {}) =>
        fetch(address + path, { credentials: "include", ...init }).then(
          ({ status, type }) => (type === "opaque" ? "opaque" : `read ${status}`),
          () => "nothing",
        );
      const headers = { "x-herald-console": "1" };
      const retry = `/api/webhooks/events/${eventId}/retry`;
      const results = [
        await read("/api/auth/me"),
        await read("/api/auth/me", { headers }),
        await read("/api/auth/me", { mode: "no-cors" }),
        await read(retry, { method: "POST" }),
        await read(retry, { method: "POST", headers }),
        await read("/api/auth/logout", { method: "POST" }),
        await read("/api/auth/logout", { method: "POST", headers }),
      ];
      for (const path of [retry, "/api/auth/logout"]) {
        const frame = Object.assign(document.createElement("iframe"), { name: path });
        const form = Object.assign(document.createElement("form"), { method: "post", target: path });
        form.action = address + path;
        document.body.append(frame, form);
        form.submit();
      }
      return results;
    },
    [address, eventId] as const,
  );

t.test("pages of other origins gain nothing from a person's session", async (t) => {
  const api = await startApi(t);
  const tenant = await makeTenant(api);
  const owner = await tenant.createUser("owner");
  const [eventId = ""] = await makeEvents(api, tenant, {});
  await updateDelivery(api, eventId, { state: "failed" });
  const context = await (await sharedBrowser()).newContext(); // without the checks: the attacks are errors
  t.teardown(() => context.close());
  const page = await context.newPage();
  const login = { email: owner.email, password: PASSWORD };
  t.equal((await context.request.post(`${api.address}/api/auth/login`, { data: login })).status(), 200);
  const answers = () =>
    api.lines.filter(({ method, route }) => method === "POST" && /logout|retry/.test(String(route)));

  for (const origin of await startOtherOrigins(t)) {
    await page.goto(origin);
    const before = answers().length;
    t.same(new Set(await attack(page, api.address, eventId)), new Set(["nothing", "opaque"]), origin);
    await until("the forms and requests are answered", () => answers().length >= before + 4);
    const headers = { "x-herald-console": "1" };
    const me = await context.request.get(`${api.address}/api/auth/me`, { headers });
    t.equal(me.status(), 200, "the session goes on");
    t.match(await readDelivery(api, eventId), { state: "failed", is_queued: false }, "nothing is sent again");
  }
  t.same(
    answers().filter(({ route, status }) => /retry/.test(String(route)) && status !== 401),
    [],
  );

  const refused = page.waitForEvent("console", (line) => line.text().includes("frame-ancestors"));
  await page.evaluate((address) => {
    document.body.append(Object.assign(document.createElement("iframe"), { src: `${address}/console` }));
  }, api.address);
  await refused;
});
