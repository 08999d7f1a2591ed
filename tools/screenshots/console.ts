import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { readConfig } from "../../src/runtime/config/config.ts";
import { HOUR } from "../../src/runtime/durations.ts";
import { createDatabase, sql } from "../../src/store/database/database.ts";
import { call, PICTURES, type Settings, until } from "./service.ts";

const VIEWPORT = { width: 1280, height: 800 };

/** Takes the pictures of the console. */
export async function takeConsolePictures(browser: Browser, settings: Settings): Promise<void> {
  await insertHistory(settings);
  const { outsideWindow, eventsRefused } = await sendMessages(settings);
  const eventId = await findFailedEvent(settings, eventsRefused);
  const page = await browser.newPage({ viewport: VIEWPORT, colorScheme: "light" });
  const address = `${settings.PUBLIC_URL}/console`;
  await signIn(page, settings);
  await takePicture(page, "overview", { url: address, text: "Needs attention" });
  await takePicture(page, "message", { url: `${address}/messages/${outsideWindow}`, text: "What happened" });
  await takePicture(page, "event", { url: `${address}/events/${eventId}`, text: "Attempts" });
}

/** Statistics of the hours before: a service that has just started has none. */
const INSERT_HISTORY = [
  sql(`
    insert into message_stats (client_id, start, channel_id, accepted, sent, failed, unknown, waiting, cancelled)
    select $1, start, $2, sent + failed, sent, failed, 0, 0, 0
    from unnest($3::timestamptz[], $4::integer[], $5::integer[]) h (start, sent, failed)`),
  sql(`
    insert into event_stats (client_id, start, key, accepted, delivered, failed, skipped, waiting)
    select $1, start, case when $2 = '' then '' else 'chatapp' end, delivered + failed, delivered, failed, 0, 0
    from unnest($3::timestamptz[], $4::integer[], $5::integer[]) h (start, delivered, failed)`),
];

/** A day of a shop: little at night, most in the afternoon, a few failures. */
async function insertHistory(settings: Settings): Promise<void> {
  const db = createDatabase(readConfig({ ...settings }), () => {});
  const thisHour = Math.floor(Date.now() / HOUR) * HOUR;
  const hours = Array.from({ length: 23 }, (_, index) => thisHour - (23 - index) * HOUR);
  const starts = hours.map((start) => new Date(start));
  const sent = hours.map((start) => {
    const hour = new Date(start).getUTCHours();
    return Math.round(8 + 60 * Math.max(0, Math.sin(((hour - 7) / 15) * Math.PI)) + ((hour * 7) % 11));
  });
  const failed = sent.map((count, index) => (index % 5 === 2 ? Math.round(count / 20) : 0));
  const values = [settings.DEMO_CLIENT_ID, settings.DEMO_CHAT_CHANNEL_ID, starts];
  const [messages, events] = INSERT_HISTORY as [(typeof INSERT_HISTORY)[0], (typeof INSERT_HISTORY)[0]];
  await db.query(messages, [...values, sent, failed]);
  await db.query(events, [...values, sent.map((count) => 4 * count), failed]);
  await db.close();
}

/** Recipients of the sandbox, by what becomes of the message. */
const [READ, UNREACHABLE, OUTSIDE_WINDOW, EVENTS_REFUSED] = ["7777", "0000", "0470", "0410"] as const;

interface SentMessages {
  outsideWindow: string;
  eventsRefused: string;
}

/** Sends messages with all kinds of outcomes, and waits for them. */
async function sendMessages(settings: Settings): Promise<SentMessages> {
  let order = 880;
  const send = async (ending: string) => {
    order += 1;
    const { message_id } = await call<{ message_id: string }>(settings, "/api/outbound/send", {
      channel_id: settings.DEMO_CHAT_CHANNEL_ID,
      to: `551198888${ending}`,
      type: "text",
      text: { body: "Your order is ready." },
      external_ref: `order-${order}`,
    });
    return message_id;
  };
  for (let count = 0; count < 12; count += 1) await send(READ);
  await send(UNREACHABLE);
  const [eventsRefused, outsideWindow] = [await send(EVENTS_REFUSED), await send(OUTSIDE_WINDOW)];
  await send(READ);
  await until("all messages and events have an outcome", async () => {
    const waiting = await Promise.all([
      ...["queued", "sending", "accepted", "sent"].map((status) =>
        count(`/api/outbound/messages?status=${status}`),
      ),
      count("/api/webhooks/events?status=pending"),
      count("/api/webhooks/events?status=delivered").then((delivered) => (delivered > 0 ? 0 : 1)),
    ]);
    return waiting.every((number) => number === 0) ? true : undefined;
  });
  return { outsideWindow, eventsRefused };

  async function count(path: string): Promise<number> {
    return (await call<{ data: object[] }>(settings, path)).data.length;
  }
}

async function findFailedEvent(settings: Settings, messageId: string): Promise<string> {
  const path = `/api/webhooks/events?status=failed&message_id=${messageId}`;
  const { data } = await call<{ data: { id: string }[] }>(settings, path);
  return (data[0] as { id: string }).id;
}

async function signIn(
  page: Page,
  { PUBLIC_URL, DEMO_EMAIL = "", DEMO_PASSWORD = "" }: Settings,
): Promise<void> {
  await page.goto(`${PUBLIC_URL}/console`);
  await page.getByLabel("Email").fill(DEMO_EMAIL);
  await page.getByLabel("Password").fill(DEMO_PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
}

/** Takes a picture of a screen once it shows a text. */
async function takePicture(
  page: Page,
  name: string,
  { url, text }: { url: string; text: string },
): Promise<void> {
  await page.goto(url);
  await page.getByText(text).first().waitFor();
  await page.waitForLoadState("networkidle");
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}
