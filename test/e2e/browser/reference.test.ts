import type { Page } from "playwright-core";
import t from "tap";
import { SCOPES } from "../../../src/schema/enumerations.ts";
import { APPEARANCE_RULES, accessibilityFindings } from "../../fixtures/http/accessibility.ts";
import { startApi } from "../../fixtures/http/api.ts";
import { DESKTOP_VIEWPORT, openBrowser, PHONE_VIEWPORT } from "../../fixtures/http/browser.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

const WEBHOOKS = {
  "sample.event": {
    post: {
      summary: "An event of this test",
      requestBody: {
        content: { "application/json": { schema: { type: "object" }, example: { sample: 1 } } },
      },
      responses: { "204": { description: "The event was received" } },
    },
  },
};

const SHOWN_TAGS = ["Channels", "Messages"];
const SHOWN_PATHS = ["/api/channels/{channel_id}", "/api/outbound/send"];

const EMPTY_DOCUMENT = { openapi: "3.1.0", info: { title: "Empty", version: "1" }, paths: {} };

interface ShownOperation {
  responses: Record<string, unknown>;
}

interface ShownDocument {
  tags: { name: string }[];
  paths: Record<string, Record<string, ShownOperation>>;
  components: { schemas: Record<string, { example?: unknown }> };
}

/**
 * Two paths, one response per operation, schemas without properties and an event type: rendering the whole document
 * would take most of the time.
 */
const shorten = ({ tags, paths, components, ...document }: ShownDocument) => ({
  ...document,
  tags: tags.filter(({ name }) => SHOWN_TAGS.includes(name)),
  paths: Object.fromEntries(SHOWN_PATHS.map((path) => [path, shortenItem(paths[path] ?? {})])),
  components: {
    ...components,
    schemas: Object.fromEntries(
      Object.entries(components.schemas).map(([name, { example }]) => [name, { type: "object", example }]),
    ),
  },
  webhooks: WEBHOOKS,
});

const shortenItem = (item: Record<string, ShownOperation>) =>
  Object.fromEntries(
    Object.entries(item).map(([method, operation]) => {
      const responses = Object.fromEntries(Object.entries(operation.responses).slice(0, 1));
      return [method, { ...operation, responses }];
    }),
  );

async function openReference(page: Page, address: string): Promise<void> {
  await page.route("**/api/openapi.json", async (request) => {
    const response = await request.fetch();
    await request.fulfill({ response, json: shorten(await response.json()) });
  });
  await page.goto(`${address}/api/docs`);
  await page.locator(".opblock").first().waitFor();
}

async function useCredential(page: Page, credential: string): Promise<void> {
  await page.getByLabel("API key or user token").fill(credential);
  await page.getByRole("button", { name: "Use for all requests" }).click();
}

/** Searches and opens the first match by keyboard; the text is one input, because each one filters the menu. */
async function openByKeyboard(page: Page, text: string): Promise<void> {
  await page.locator("body").press("/");
  await page.keyboard.insertText(text);
  await page.keyboard.press("Enter");
}

const openBlock = (page: Page, path: string) =>
  page.locator(".opblock.is-open", { has: page.locator(`[data-path="${path}"]`) });

t.test("the API reference in a real browser", async (t) => {
  const [api, openPage] = await Promise.all([startApi(t), openBrowser(t)]);
  const client = await makeTenant(api, "Corner shop");
  const channelId = await makeChannel(api, client);
  await makeChannel(api, client, { platform: "socialapp" });
  const key = await client.createKey(...SCOPES);
  const page = await openPage({ viewport: DESKTOP_VIEWPORT });
  await openReference(page, api.address);
  const menu = page.getByRole("navigation", { name: "Operations and event types" });
  const credentialStatus = page.locator("#credential-status");
  const statusContains = (text: string) =>
    until(`the status contains ${text}`, async () => (await credentialStatus.textContent())?.includes(text));

  t.test("the menu groups all operations by tag", async (t) => {
    const titles = await menu.locator("#entries summary").allTextContents();
    t.same(titles, [...SHOWN_TAGS, "Event types"]);
    await menu.getByText("Messages", { exact: true }).click();
    await menu.getByRole("link", { name: "Send a message" }).click();
    await openBlock(page, "/api/outbound/send").waitFor();
    t.match(page.url(), /#\/Messages\/\w+$/);
    await page.getByRole("button", { name: "Execute" }).waitFor();
  });

  t.test("a rejected key is reported and not kept", async (t) => {
    await useCredential(page, "svc_test_wrong");
    await statusContains("not accept");
    t.equal(await page.evaluate(() => sessionStorage.length), 0);
  });

  t.test("with a key, an example works as shown", async (t) => {
    await useCredential(page, key.text);
    await statusContains("Corner shop");
    const send = openBlock(page, "/api/outbound/send");
    const body = JSON.parse(await send.locator("textarea").inputValue());
    t.equal(body.channel_id, channelId, "the example has the id of the chat channel");
    await send.getByRole("button", { name: "Execute" }).click();
    await send.locator(".live-responses-table .response-col_status", { hasText: "202" }).waitFor();
  });

  t.test("operations and event types are found and opened by keyboard", async (t) => {
    await openByKeyboard(page, "sample.event");
    const event = openBlock(page, "sample.event");
    await event.waitFor();
    t.match(await event.textContent(), /An event of this test/);
    t.equal(await event.getByRole("button", { name: "Execute" }).count(), 0, "an event cannot be tried");
    t.ok(
      await event
        .locator(".opblock-summary-control")
        .evaluate((control) => control === document.activeElement),
    );
    t.match(page.url(), /#\/webhooks\/sample\.event$/);
  });

  t.test("the page has no serious accessibility findings and fits into its window", async (t) => {
    const isDark = () => page.evaluate(() => document.documentElement.classList.contains("dark-mode"));
    for (const { viewport, colorScheme, rules } of [
      { viewport: PHONE_VIEWPORT, colorScheme: "light", rules: undefined },
      { viewport: DESKTOP_VIEWPORT, colorScheme: "dark", rules: APPEARANCE_RULES },
    ] as const) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      await until("Swagger UI has the scheme", async () => (await isDark()) === (colorScheme === "dark"));
      t.same(await accessibilityFindings(page, rules), [], `${viewport.width} px, ${colorScheme}`);
    }
  });

  t.test("the example of a DELETE does not contain an id of the caller", async (t) => {
    await openByKeyboard(page, "delete channels/");
    const value = await openBlock(page, "/api/channels/{channel_id}").locator("input").first().inputValue();
    t.match(value, /^ch_/);
    t.not(value, channelId);
  });

  t.test("the key is used again after a reload, and Forget removes it", async (t) => {
    await page.route("**/api/openapi.json", (request) => request.fulfill({ json: EMPTY_DOCUMENT }));
    await page.reload();
    await statusContains("Corner shop");
    await page.getByRole("button", { name: "Forget" }).click();
    await until("the key is removed", async () => (await credentialStatus.textContent()) === "");
    t.equal(await page.evaluate(() => sessionStorage.length), 0);
  });
});
