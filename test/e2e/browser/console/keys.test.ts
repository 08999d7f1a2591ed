import type { Page } from "playwright-core";
import t from "tap";
import { keysTexts } from "../../../../src/console/texts/keys.ts";
import { texts } from "../../../../src/console/texts.ts";
import {
  button,
  callFromPage,
  changeUser,
  expectErrors,
  failedLoad,
  goTo,
  heading,
  menu,
  openConsoleBrowser,
  readClipboard,
  rowsOf,
  signIn,
  untilRows,
} from "../../../fixtures/console/pages.ts";
import { startApi } from "../../../fixtures/http/api.ts";
import { makeTenant } from "../../../fixtures/tenants/tenants.ts";
import { until } from "../../../fixtures/until.ts";

const words = keysTexts;

const rows = (page: Page) => rowsOf(page, words.title);

/** The row of a key that ends with these characters. */
const rowOf = (page: Page, text: string) => rows(page).filter({ hasText: `…${text.slice(-4)}` });

const dialogOf = (page: Page) => page.getByRole("dialog");

/** The text of the key that is shown. */
const shownKey = async (page: Page): Promise<string> =>
  (await page.getByRole("region", { name: words.theKey, exact: true }).textContent()) ?? "";

/** Goes back like the browser's button, and waits until the console has noticed it. */
const goBack = (page: Page) =>
  page.evaluate(async () => {
    const isBack = new Promise((resolve) => addEventListener("popstate", resolve, { once: true }));
    history.back();
    await isBack;
  });

async function closeShown(page: Page): Promise<void> {
  await button(page, texts.secret.stored).click();
  await dialogOf(page).waitFor({ state: "detached" });
}

t.test("API keys in the console", async (t) => {
  const [api, openPage] = await Promise.all([startApi(t), openConsoleBrowser(t)]);
  const [tenant, otherTenant] = [await makeTenant(api, "Corner shop"), await makeTenant(api)];
  await otherTenant.createKey("messages:send");
  const page = await openPage();
  const url = `${api.address}/console/keys`;
  /** Keys that exist before the first one is created here. */
  const former: string[] = [];
  const statusWith = async (key: string, path = "/api/outbound/messages") =>
    (await api.call("GET", path, { headers: { "x-svc-api-key": key } })).status;

  t.test("another client's keys are not listed", async (t) => {
    await signIn(page, await tenant.createUser("owner"), `${api.address}/console/sessions`);
    await menu(page).getByRole("link", { name: words.title }).click();
    await page.getByText(words.none).waitFor();
    t.equal(await rows(page).count(), 0);
    for (const _ of Array(3)) former.push((await tenant.createKey("messages:send")).text);
  });

  t.test("a key is created by keyboard, and a dialog without scopes says what is missing", async (t) => {
    const { keyboard } = page;
    await until("Tab reaches the button", async () => {
      await keyboard.press("Tab");
      return page.evaluate((name) => document.activeElement?.textContent === name, words.create.action);
    });
    await keyboard.press("Enter");
    await keyboard.type("Order service");
    await keyboard.press("Enter");
    await button(dialogOf(page), words.create.noScope).waitFor();
    await keyboard.press("Tab");
    await keyboard.press("Space");
    await button(dialogOf(page), words.create.action).waitFor();
    await keyboard.press("Enter");
    await page.getByText(texts.secret.once).waitFor();
    t.equal(api.lines.filter(({ method, route }) => method === "POST" && route === "/api/keys").length, 1);
  });

  t.test("nothing but its button takes the shown key away", async (t) => {
    const key = await shownKey(page);
    for (const _ of Array(3)) await page.keyboard.press("Escape");
    await page.mouse.click(5, 5);
    await goBack(page);
    const question = page.waitForEvent("dialog");
    await page.evaluate(() => void setTimeout(() => location.reload()));
    t.equal((await question).type(), "beforeunload");
    await (await question).dismiss();
    await dialogOf(page).waitFor();
    t.equal(page.url(), url);
    t.equal(await shownKey(page), key);
  });

  t.test("the key works with exactly its scopes, and is not on the page once it is stored", async (t) => {
    const key = await shownKey(page);
    await button(page, texts.copyButton).click();
    await page.getByText(texts.copied(words.theKey)).waitFor();
    t.equal(await readClipboard(page), key);
    t.equal(await statusWith(key), 200);
    t.equal(await statusWith(key, "/api/webhooks/events"), 403);
    await closeShown(page);
    await untilRows(page, words.title, 4);
    const secret = key.split("_").at(-1) as string;
    t.notOk((await page.content()).includes(secret));
    t.match(await rowOf(page, key).textContent(), /Order service.*active.*messages:send.*A test's owner/);
  });

  t.test("an expiry that has passed is refused with the server's message", async (t) => {
    expectErrors(page, failedLoad(400));
    await button(page, words.create.action).click();
    await page.getByLabel(words.create.name).fill("Too late");
    await page.getByLabel("marketing:read").check();
    await page.getByLabel(words.create.expiry).fill("2020-01-01T00:00");
    await button(dialogOf(page), words.create.action).click();
    await page.getByRole("alert").waitFor();
    t.match(await page.getByRole("alert").textContent(), /must be in the future/);
    await page.getByLabel(words.create.expiry).fill("2099-12-31T23:59");
    await button(dialogOf(page), words.create.action).click();
    await page.getByText(texts.secret.once).waitFor();
    const key = await shownKey(page);
    await closeShown(page);
    await untilRows(page, words.title, 5);
    t.match(await rowOf(page, key).textContent(), words.expires);
  });

  t.test("a rotated key works beside the new one for the chosen time", async (t) => {
    const key = former[0] as string;
    await button(rowOf(page, key), words.rotate.action).click();
    await page.getByLabel(texts.secret.grace).selectOption("60");
    await button(dialogOf(page), words.rotate.confirm).click();
    await page.getByText(words.rotate.worksFor("1 more hour")).waitFor();
    const next = await shownKey(page);
    await closeShown(page);
    await rowOf(page, key).getByText("replaced").waitFor();
    t.same([await statusWith(key), await statusWith(next)], [200, 200]);
    t.match(await rowOf(page, key).textContent(), words.stops);
    t.equal(await button(rowOf(page, key), words.rotate.action).count(), 0);
    t.match(await rowOf(page, next).textContent(), /active.*A test's owner/);
  });

  t.test("a key that is rotated without such a time is refused at once", async (t) => {
    const key = former[1] as string;
    await button(rowOf(page, key), words.rotate.action).click();
    await page.getByLabel(texts.secret.grace).selectOption("0");
    await page.getByText(words.rotate.noGrace).waitFor();
    await button(dialogOf(page), words.rotate.confirm).click();
    await page.getByText(words.rotate.ended).waitFor();
    const next = await shownKey(page);
    await closeShown(page);
    await rowOf(page, key).getByText("expired").waitFor();
    t.same([await statusWith(key), await statusWith(next)], [401, 200]);
  });

  t.test("a key is revoked only after a question with the consequence", async (t) => {
    const key = former[2] as string;
    const row = rowOf(page, key);
    await button(row, words.revoke.action).click();
    t.match(await dialogOf(page).textContent(), /Programs that use svc_test_\w+….{4} are refused/);
    await button(dialogOf(page), texts.cancel).click();
    await dialogOf(page).waitFor({ state: "detached" });
    t.equal(await statusWith(key), 200);
    await button(row, words.revoke.action).click();
    await button(dialogOf(page), words.revoke.confirm).click();
    await row.getByText("revoked").waitFor();
    t.equal(await statusWith(key), 401);
    t.equal(await row.getByRole("button").count(), 0);
  });

  t.test("a key whose text was lost on the way is in the list, and the dialog says so", async (t) => {
    const before = await rows(page).count();
    expectErrors(page, "net::ERR_FAILED");
    await page.route(
      "**/api/keys",
      async (route) => {
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );
    await button(page, words.create.action).click();
    await page.getByLabel(words.create.name).fill("Lost");
    await page.getByLabel("messages:send").check();
    await button(dialogOf(page), words.create.action).click();
    await page.getByText(words.uncertain).waitFor();
    await page.keyboard.press("Escape");
    await untilRows(page, words.title, before + 1);
    t.match(await rows(page).first().textContent(), "Lost");
  });

  t.test("members and viewers have no keys, and the server refuses them", async (t) => {
    expectErrors(page, failedLoad(403));
    for (const role of ["member", "viewer"] as const) {
      await changeUser(page, await tenant.createUser(role));
      t.equal(await menu(page).getByRole("link", { name: words.title, exact: true }).count(), 0, role);
      await goTo(page, "/console/keys");
      await heading(page, texts.notAllowed.title).waitFor();
      t.equal(await callFromPage(page, "GET", "/api/keys"), 403, role);
    }
  });
});
