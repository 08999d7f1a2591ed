import { unwrap } from "@herald/sdk/webhooks";
import type { Page } from "playwright-core";
import t from "tap";
import { PROGRAMS } from "../../../../src/console/screens/webhooks/programs.ts";
import { webhooksTexts as words } from "../../../../src/console/texts/webhooks.ts";
import { texts } from "../../../../src/console/texts.ts";
import {
  button,
  callFromPage,
  expectErrors,
  failedLoad,
  heading,
  menu,
  readClipboard,
  rowsOf,
  signIn,
} from "../../../fixtures/console/pages.ts";
import { startConsoleSite } from "../../../fixtures/console/site.ts";
import { answerWith, type ReceivedEvent } from "../../../fixtures/events/client-backend.ts";
import { until } from "../../../fixtures/until.ts";

const CHAT = words.keys.chatapp;

const resultOf = (page: Page) => page.getByRole("region", { name: words.test.result });

const addressField = (page: Page) => page.getByLabel(words.address.label);

const chatSwitch = (page: Page) => page.getByRole("switch", { name: words.dispatch.send(CHAT) });

const dialogOf = (page: Page, name: string) => page.getByRole("dialog", { name });

async function untilAnswered(page: Page, dialog: string, answer: string): Promise<void> {
  await button(dialogOf(page, dialog), answer).click();
  await dialogOf(page, dialog).waitFor({ state: "detached" });
}

const shownEvent = (page: Page): Promise<string | undefined> =>
  resultOf(page)
    .getByRole("link", { name: words.test.openEvent })
    .evaluateAll(([link]) => (link as HTMLAnchorElement | undefined)?.pathname.split("/").at(-1));

/** Sends a test event of the type, or a connection test, and returns its id once the result is shown. */
async function sendTest(page: Page, type = "webhook.test"): Promise<string> {
  const former = await shownEvent(page);
  await page.getByLabel(words.test.event, { exact: true }).selectOption(type);
  await button(page, words.test.action).click();
  return until("the result is shown", async () => {
    const id = await shownEvent(page);
    return id === former ? undefined : id;
  });
}

/** True when a backend that knows only this secret accepts the delivery. */
const accepts = ({ raw, headers }: ReceivedEvent, secret: string): Promise<boolean> =>
  unwrap(raw, headers, secret).then(
    () => true,
    () => false,
  );

/** Presses Tab, or Shift+Tab, until the focused element has this text. */
const tabTo = (page: Page, text: string, key = "Tab") =>
  until(`${key} reaches "${text}"`, async () => {
    await page.keyboard.press(key);
    return page.evaluate((text) => document.activeElement?.textContent === text, text);
  });

t.test("webhooks in the console", async (t) => {
  const site = await startConsoleSite(t);
  const { page, backend } = site;
  const readConfig = () => site.read("/api/webhooks/config");
  const lastReceived = () => backend.received.at(-1) as ReceivedEvent;
  const address = `${backend.url}/hooks`;
  const secrets: string[] = [];

  /** Takes the secret out of the dialog that shows it once, and closes it. */
  async function storeSecret(): Promise<string> {
    const dialog = dialogOf(page, words.secret.shownTitle);
    const secret = (await dialog.getByRole("region", { name: words.secret.name }).textContent()) ?? "";
    await button(dialog, texts.secret.stored).click();
    await dialog.waitFor({ state: "detached" });
    secrets.push(secret);
    return secret;
  }

  t.test("an address that the server refuses is not set, and the reason is shown", async (t) => {
    await site.open("/console/webhooks");
    await page.getByText(`The address ${backend.url} is set, but no event was sent to it yet.`).waitFor();
    expectErrors(page, failedLoad(400));
    await addressField(page).fill(site.api.config.PUBLIC_URL);
    await button(page, words.address.save).click();
    await page.getByText("webhook_url must not point to this service").waitFor();
    t.equal((await readConfig()).webhook_url, backend.url);
  });

  t.test("an address is set as the server stores it", async (t) => {
    await addressField(page).fill(` ${address}/ `);
    await button(page, words.address.save).click();
    await page.getByText(`The address ${address} is set`).waitFor();
    t.equal(await addressField(page).inputValue(), address);
    t.equal(await page.getByRole("alert").count(), 0);
    t.equal((await readConfig()).webhook_url, address);
  });

  t.test("a generated secret is shown once, and signs the deliveries", async (t) => {
    await button(page, words.secret.generate).click();
    const secret = await storeSecret();
    await page.getByText((await readConfig()).webhook_secret_hint).waitFor();
    t.notOk((await page.content()).includes(secret), "it is shown only once");
    backend.answer = answerWith(200, {}, "thank you");
    const id = await sendTest(page);
    await resultOf(page).getByText("thank you").waitFor();
    t.match(
      await resultOf(page).textContent(),
      new RegExp(`delivered.*200.*\\d ms.*${address.replaceAll("/", "\\/")}`),
    );
    t.match(lastReceived(), { id, path: "/hooks", headers: { "x-webhook-token": secret } });
    t.equal(await accepts(lastReceived(), secret), true);
    await page.getByText(/answered the latest attempt .* with HTTP 200/).waitFor();
  });

  t.test("during the grace period the test backend accepts both secrets", async (t) => {
    const question = words.secret.replace;
    await button(page, question.action).click();
    const dialog = dialogOf(page, question.title);
    t.match(await dialog.textContent(), question.consequence);
    await dialog.getByLabel(texts.secret.grace).selectOption("60");
    await button(dialog, question.action).click();
    await storeSecret();
    await sendTest(page);
    const [former = "", present = ""] = secrets;
    t.not(former, present);
    for (const secret of [former, present]) t.equal(await accepts(lastReceived(), secret), true);
    t.equal(await accepts(lastReceived(), "a-secret-of-another"), false);
  });

  t.test("deliveries do not carry the secret any more after a question", async (t) => {
    const question = words.secret.tokenHeader;
    await page.getByRole("switch", { name: question.label }).click();
    t.match(await dialogOf(page, question.title).textContent(), question.consequence);
    t.equal((await readConfig()).token_header, true);
    await untilAnswered(page, question.title, question.hide);
    t.equal((await readConfig()).token_header, false);
  });

  t.test("each kind of event shows its paths and types, and leads to its events", async (t) => {
    const rows = rowsOf(page, words.dispatch.caption);
    t.equal(await rows.count(), Object.keys(words.keys).length);
    const chat = rows.filter({ hasText: CHAT });
    await chat.locator("summary").click();
    await chat.getByText("/chat/receiveMessage").waitFor();
    t.match(await chat.textContent(), "/chat/updateTemplateStatustemplate.status_updated");
    const link = chat.getByRole("link", { name: words.dispatch.eventsOf(CHAT) });
    t.equal(await link.getAttribute("href"), "/console/events?key=chatapp");
  });

  t.test("while a kind is switched off, its events are not sent", async (t) => {
    const question = words.dispatch.disable;
    await chatSwitch(page).click();
    const dialog = dialogOf(page, question.title(CHAT));
    await dialog.getByText(words.waiting(0)).waitFor();
    t.match(await dialog.textContent(), question.consequence(CHAT));
    t.equal((await readConfig()).dispatch_urls.platforms.chatapp.enabled, true);
    await untilAnswered(page, question.title(CHAT), question.action);
    await until("it is off", async () => !(await chatSwitch(page).isChecked()));
    const count = backend.received.length;
    const id = await sendTest(page, "message.received");
    t.match(await resultOf(page).textContent(), words.test.reasons.disabled);
    const { status, skip_reason } = await site.read(`/api/webhooks/events/${id}`);
    t.same([status, skip_reason], ["skipped", "disabled"]);
    t.equal(backend.received.length, count);
  });

  t.test("a kind is switched on at once, and a test event goes to the path of its type", async (t) => {
    await chatSwitch(page).click();
    await until("it is on", () => chatSwitch(page).isChecked());
    const id = await sendTest(page, "message.received");
    await resultOf(page).getByText("thank you").waitFor();
    t.match(lastReceived(), { id, path: "/hooks/chat/receiveMessage" });
    t.match(JSON.parse(lastReceived().raw), { type: "message.received", test: true });
  });

  t.test("a type with several keys is sent with the chosen one", async (t) => {
    await page.getByLabel(words.test.event, { exact: true }).selectOption("channel.updated");
    await page.getByLabel(words.test.key).selectOption("socialapp");
    await sendTest(page, "channel.updated");
    t.match(lastReceived(), { path: "/hooks/social/updateChannel" });
    t.equal(lastReceived().headers["x-webhook-token"], undefined, "it was switched off");
    t.ok(lastReceived().headers["webhook-signature"]);
  });

  t.test("the answer of a backend that fails is shown, with a link to the event", async (t) => {
    backend.answer = answerWith(500, {}, "the shop is closed");
    const id = await sendTest(page);
    await resultOf(page).getByText("the shop is closed").waitFor();
    t.match(await resultOf(page).textContent(), /failed.*500.*HTTP 500/);
    await page.getByText(/the latest attempt .* failed: HTTP 500/).waitFor();
    await resultOf(page).getByRole("link", { name: words.test.openEvent }).click();
    await page.waitForURL(`**/console/events/${id}`);
    await page.getByText("the shop is closed").waitFor();
    await page.goBack();
    await heading(page, words.title).waitFor();
  });

  t.test("a program that verifies deliveries is copied, without the secret", async (t) => {
    await page.getByLabel(words.snippet.language).selectOption("python");
    const program = page.locator(".code-block", {
      has: page.getByRole("region", { name: words.snippet.label }),
    });
    await button(program, texts.copyButton).click();
    await until("it is copied", async () => (await readClipboard(page)) === PROGRAMS.python.code);
    for (const { code } of Object.values(PROGRAMS)) t.notOk(secrets.some((secret) => code.includes(secret)));
  });

  t.test("secret and address are removed, and an address is set, by keyboard only", async (t) => {
    const { keyboard } = page;
    const confirm = async (title: string, action: string) => {
      await dialogOf(page, title).waitFor();
      await tabTo(page, action);
      await keyboard.press("Enter");
      await dialogOf(page, title).waitFor({ state: "detached" });
    };
    await tabTo(page, words.secret.remove.action, "Shift+Tab");
    await keyboard.press("Enter");
    await confirm(words.secret.remove.title, words.secret.remove.action);
    await page.getByText("The secret is not set, so events are not signed.").waitFor();
    t.equal((await readConfig()).webhook_secret_set, false);
    await until("the focus is where a secret is generated", () =>
      button(page, words.secret.generate).evaluate((element) => element === document.activeElement),
    );

    await tabTo(page, words.address.remove.action, "Shift+Tab");
    await keyboard.press("Enter");
    await confirm(words.address.remove.title, words.address.remove.action);
    await page.getByText(words.test.noAddress).waitFor();
    t.equal(await button(page, words.test.action).getAttribute("aria-disabled"), "true");
    t.equal((await readConfig()).configured, false);
    await until("the focus is in the field", () =>
      addressField(page).evaluate((element) => element === document.activeElement),
    );
    await keyboard.type(address);
    await keyboard.press("Enter");
    await page.getByText(`The address ${address} is set`).waitFor();
    t.equal((await readConfig()).webhook_url, address);
  });

  t.test("a viewer does not see the screen, and the server refuses its requests", async (t) => {
    const other = await site.openPage();
    const viewer = await site.tenant.createUser("viewer");
    await signIn(other, viewer, `${site.api.config.PUBLIC_URL}/console/webhooks`);
    await heading(other, texts.notAllowed.title).waitFor();
    t.equal(await menu(other).getByRole("link", { name: words.title }).count(), 0);
    expectErrors(other, failedLoad(403));
    for (const [method, path] of [
      ["GET", "/api/webhooks/config"],
      ["PATCH", "/api/webhooks/config"],
      ["POST", "/api/webhooks/config/generate-secret"],
      ["PATCH", "/api/webhooks/dispatch/chatapp"],
      ["POST", "/api/webhooks/test"],
    ] as const)
      t.equal(await callFromPage(other, method, path), 403, `${method} ${path}`);
    await other.context().close();
  });
});
