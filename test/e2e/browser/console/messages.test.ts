import { execFileSync } from "node:child_process";
import type { Locator, Page } from "playwright-core";
import t from "tap";
import { texts } from "../../../../src/console/texts.ts";
import { HOUR } from "../../../../src/runtime/durations.ts";
import {
  button,
  expectErrors,
  failedLoad,
  goTo,
  readClipboard,
  untilVisible,
} from "../../../fixtures/console/pages.ts";
import { CHANNEL_NAME, startConsoleSite } from "../../../fixtures/console/site.ts";
import { answerWith } from "../../../fixtures/events/client-backend.ts";
import { RECIPIENT_PHONE } from "../../../fixtures/messages/messages.ts";
import { bodyComponent, simpleTemplate } from "../../../fixtures/sandbox/chat-templates.ts";
import { createTemplateClient } from "../../../fixtures/tenants/templates.ts";

const words = texts.messages;
const form = texts.sendMessage;

const MESSAGE_PATH = /\/console\/messages\/(msg_\w+)$/;
const BACKEND_ANSWER = "received, thank you";

const explanationOf = (page: Page) => page.getByRole("region", { name: words.explanation });

const dialogOf = (page: Page) => page.getByRole("dialog");

/** The recipient that the form offers for an outcome. */
const sampleOf = (effect: RegExp) =>
  form.sampleRecipients.find((sample) => effect.test(sample.effect))?.to ?? "";

/** Waits for the screen of a message other than `former`, and returns the message's id. */
async function untilMessageScreen(page: Page, former = ""): Promise<string> {
  await page.waitForURL((url) => MESSAGE_PATH.test(url.pathname) && !url.pathname.endsWith(former || " "));
  return MESSAGE_PATH.exec(page.url())?.[1] as string;
}

/** What a shell would send with the command: the last argument of curl. */
const dataOf = (command: string): string =>
  execFileSync("sh", ["-c", `curl() { for last; do :; done; printf %s "$last"; }\n${command}`], {
    encoding: "utf8",
  });

t.test("messages in the console", async (t) => {
  const site = await startConsoleSite(t);
  const { page, channelId, backend } = site;
  await page.clock.install();
  backend.answer = answerWith(200, {}, BACKEND_ANSWER);
  const untilShown = (element: Locator) => untilVisible(page, element);
  const countMessages = async () => (await site.read("/api/outbound/messages?limit=100")).data.length;

  t.test("a client without messages is led to a test message", async (t) => {
    await site.open("/console/messages");
    await page.getByText(words.none).waitFor();
    await page.getByRole("main").getByRole("link", { name: words.sendTest }).last().click();
    await page.getByRole("heading", { name: form.title }).waitFor();
    t.equal(new URL(page.url()).pathname, "/console/messages/new");
  });

  t.test("letters instead of a number are refused with the server's message", async (t) => {
    expectErrors(page, failedLoad(400));
    await page.getByLabel(words.columns.to).fill("my neighbour");
    await button(page, form.action).click();
    await page.getByRole("alert").waitFor();
    const line = site.api.lines.findLast(({ route }) => route === "/api/outbound/send");
    t.match(line, { status: 400, request_id: /^req_/ });
    await page.getByRole("alert").getByRole("button").click();
    t.equal(await readClipboard(page), line?.request_id);
    t.match(await page.getByRole("alert").textContent(), /digits/);
    t.equal(await countMessages(), 0);
  });

  t.test("a message that fails shows why, without a reload", async (t) => {
    const recipient = sampleOf(/always fails/);
    await page.getByRole("button", { name: recipient }).click();
    t.equal(await page.getByLabel(words.columns.to).inputValue(), recipient);
    await button(page, form.action).click();
    const id = await untilMessageScreen(page);
    await untilShown(explanationOf(page).getByText(texts.statuses.failed as string, { exact: true }));
    const { summary, next_step, documentation } = await site.read(`/api/outbound/messages/${id}/explanation`);
    const explanation = await explanationOf(page).textContent();
    for (const text of [summary, next_step, texts.whoActs.recipient, "131026"]) t.match(explanation, text);
    const link = explanationOf(page).getByRole("link", { name: words.whatThisMeans });
    t.equal(await link.getAttribute("href"), documentation);
  });

  t.test("the timeline shows the platform's code, and its details when opened", async (t) => {
    await goTo(page, `/console/messages/${await site.send({ to: sampleOf(/24 hours/) })}`);
    const attempt = page.getByText(texts.timeline.platformAttempt(1));
    await untilShown(attempt);
    const details = page.getByRole("listitem").filter({ has: attempt });
    t.match(await details.textContent(), /rejected.*131047/);
    await attempt.click();
    t.match(await details.getByRole("definition").allTextContents(), ["131047"]);
    t.match(await details.textContent(), /HTTP status400/);
  });

  t.test("a delivered message shows its events, and each delivery the backend's answer", async (t) => {
    const id = await site.send({ external_ref: "order-881" });
    await site.untilDelivered(id, 4);
    await goTo(page, `/console/messages/${id}`);
    await untilShown(explanationOf(page).getByText(texts.statuses.read as string, { exact: true }));
    const attempts = page.getByText(texts.timeline.deliveryAttempt(1));
    t.equal(await attempts.count(), 4);
    t.equal(await page.getByRole("link", { name: texts.timeline.openEvent }).count(), 4);
    t.match(await page.getByRole("main").textContent(), `${words.columns.channel}${CHANNEL_NAME}`);
    await attempts.first().click();
    await page.getByRole("region", { name: texts.timeline.answer }).getByText(BACKEND_ANSWER).waitFor();
    await page.getByRole("link", { name: "order-881" }).click();
    await page.waitForURL(/\/console\/messages\?external_ref=order-881$/);
  });

  t.test("a copied command sends the same message and contains no credential", async (t) => {
    const text = `It's "ready" at $5 \\ 100%\nTable \`7\``;
    const id = await site.send({ text: { body: text }, external_ref: "table-7" });
    await goTo(page, `/console/messages/${id}`);
    await button(page, words.copyAsCurl).click();
    await page.getByText(texts.copied(words.theCommand)).waitFor();
    const command = await readClipboard(page);
    t.same(JSON.parse(dataOf(command)), {
      ...{ channel_id: channelId, to: RECIPIENT_PHONE, type: "text", text: { body: text } },
      external_ref: "table-7",
    });
    t.match(command, `curl -sS '${site.api.config.PUBLIC_URL}/api/outbound/send'`);
    t.notMatch(command, /svc_|eyJ|Bearer|ookie/);
  });

  t.test("sending again asks first, and sends exactly one new message", async (t) => {
    const former = await untilMessageScreen(page);
    const before = await countMessages();
    await button(page, words.sendAgain.action).click();
    t.match(await dialogOf(page).textContent(), words.sendAgain.consequence(RECIPIENT_PHONE, CHANNEL_NAME));
    await button(dialogOf(page), texts.cancel).click();
    await dialogOf(page).waitFor({ state: "detached" });
    t.equal(await countMessages(), before);
    await button(page, words.sendAgain.action).click();
    await button(dialogOf(page), words.sendAgain.action).dblclick();
    const id = await untilMessageScreen(page, former);
    t.equal(await countMessages(), before + 1);
    const [old, sent] = [former, id].map((each) => site.read(`/api/outbound/messages/${each}`));
    t.same((await sent).content, (await old).content);
    await page.getByRole("heading", { name: id.slice(-5) }).waitFor();
  });

  t.test("a template is sent with the value of its variable", async (t) => {
    const body = bodyComponent("Your order {{1}} is ready.", ["7"]);
    const templates = await createTemplateClient(site.api, site.tenant, channelId);
    await templates.submit(simpleTemplate("instant_ready", { components: [body] }));
    await goTo(page, `/console/messages/new?to=${RECIPIENT_PHONE}`);
    await page.getByLabel(words.type).selectOption({ label: form.template });
    t.ok(await button(page, form.action).isDisabled());
    await page.getByLabel(form.template, { exact: true }).selectOption("instant_ready pt_BR");
    t.ok(await button(page, form.action).isDisabled(), "the variable has no value");
    await page.getByLabel(form.variable("1")).fill("881");
    await button(page, form.action).click();
    const id = await untilMessageScreen(page);
    t.match((await site.read(`/api/outbound/messages/${id}`)).content, {
      name: "instant_ready",
      components: [{ type: "body", parameters: [{ type: "text", text: "881" }] }],
    });
    await untilShown(explanationOf(page).getByText(texts.statuses.read as string, { exact: true }));
  });

  t.test("a message whose answer was lost is not sent twice", async (t) => {
    const before = await countMessages();
    await goTo(page, `/console/messages/new?to=${RECIPIENT_PHONE}`);
    expectErrors(page, "net::ERR_FAILED");
    await page.route(
      "**/api/outbound/send",
      async (route) => {
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );
    await button(page, form.action).click();
    await page.getByRole("alert").waitFor();
    t.equal(await countMessages(), before + 1);
    await button(page, form.action).click();
    await untilMessageScreen(page);
    t.equal(await countMessages(), before + 1);
  });

  t.test("a scheduled message is cancelled after a question", async (t) => {
    const id = await site.send({ send_at: new Date(Date.now() + 1 * HOUR).toISOString() });
    await goTo(page, `/console/messages/${id}`);
    await button(page, words.cancel.action).click();
    t.match(await dialogOf(page).textContent(), words.cancel.consequence(RECIPIENT_PHONE));
    t.match(await site.read(`/api/outbound/messages/${id}`), { status: "scheduled" });
    await button(dialogOf(page), words.cancel.action).click();
    await explanationOf(page)
      .getByText(texts.statuses.cancelled as string, { exact: true })
      .waitFor();
    t.equal(await button(page, words.cancel.action).count(), 0);
    t.match(await site.read(`/api/outbound/messages/${id}`), { status: "cancelled" });
  });
});
