/** Compiled by `npm test` with `strict`: programs of users that must compile without casts. */
import {
  Herald,
  HeraldError,
  type List,
  type MessageDto,
  RateLimitError,
  ValidationError,
} from "@herald/sdk";
import { type Event, sign, unwrap } from "@herald/sdk/webhooks";

const herald = new Herald({ baseUrl: "https://herald.example.com", apiKey: "svc_test_1", timeoutMs: 5_000 });
const target = { channel_id: "ch_1", to: "5511988887777" };

export async function sendMessages(): Promise<string[]> {
  const text = await herald.messages.send({ ...target, type: "text", text: { body: "Hello" } });
  const link = { link: "https://shop.example/a.png" };
  const image = await herald.messages.send(
    { ...target, type: "image", image: link, external_ref: "order-1" },
    { idempotencyKey: "order-1", maxRetries: 5 },
  );
  const delivered = await herald.messages.waitUntil(text.message_id, "delivered");
  return [text.message_id, image.message_id, delivered.status];
}

export async function sendBatch(people: readonly { phone: string; name: string }[]): Promise<number> {
  const messages = people.map(({ phone, name }) => ({
    to: phone,
    components: [{ type: "body", parameters: [{ type: "text", text: name }] }],
  }));
  const template = { name: "order_update", language: { code: "pt_BR" } };
  const { batch_id, rejected } = await herald.batches.send(
    { channel_id: "ch_1", type: "template", template, messages, name: "sale", rate_per_second: 20 },
    { idempotencyKey: "sale-1" },
  );
  const { counts } = await herald.batches.waitUntilFinished(batch_id, { timeoutMs: 60_000 });
  return counts.failed + rejected.length;
}

export async function readLists(): Promise<number> {
  const failed: List<MessageDto> = herald.messages.list({ status: "failed" });
  const first = await failed.toArray({ limit: 10 });
  let count = first.length;
  for await (const { message_id } of failed) count += message_id.length;
  for await (const page of herald.templates.list({ channel_id: "ch_1" }).pages())
    count += page.data.length + (page.namespace?.length ?? 0);
  for await (const page of herald.insights.query({ ad_account_id: "act_1", date_preset: "last_7d" }).pages())
    count += page.currency.length;
  return count;
}

export async function createCampaign(): Promise<string> {
  const body = {
    ad_account_id: "act_1",
    name: "Winter",
    objective: "OUTCOME_TRAFFIC",
    special_ad_categories: [],
  } as const;
  await herald.campaigns.validate({ ...body, special_ad_categories: [] });
  const campaign = await herald.campaigns.create({ ...body, special_ad_categories: [] });
  const changed = await herald.campaigns.update(campaign.id, { ad_account_id: "act_1", name: "Spring" });
  return changed.id;
}

export async function readReport(): Promise<number> {
  const report = herald.insights.report({ ad_account_id: "act_1", fields: "spend", date_preset: "last_7d" });
  let rows = 0;
  for await (const row of report.rows()) rows += Object.keys(row).length;
  return rows + (await report.csv()).length;
}

/** The event's type narrows its data, and the message's type narrows its content. */
export function textOf(event: Event): string | undefined {
  if (event.type === "message.received" && event.data.type === "text") {
    const { content } = event.data;
    return "body" in content ? content.body : content.text;
  }
  if (event.type === "message.received" && event.data.type === "button") return event.data.content.payload;
  if (event.type === "message.send_result") return event.data.outcome;
  if (event.type === "batch.updated") return event.data.pause_reason ?? event.data.status;
  return undefined;
}

export async function receive(request: Request): Promise<string | undefined> {
  return textOf(
    await unwrap(await request.text(), request.headers, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
  );
}

export async function followEvents(): Promise<string | undefined> {
  for await (const { payload, cursor } of herald.events.stream({ types: ["message.received"] }))
    if (textOf(payload) === "stop") return cursor;
  return undefined;
}

export async function testReceiver(): Promise<Response> {
  const { body, headers } = await sign({ id: "evt_1", type: "webhook.test" }, "a secret of my own");
  return fetch("http://localhost:3000", { method: "POST", body, headers });
}

export function describeError(error: unknown): string | number {
  if (error instanceof RateLimitError) return error.retryAfterMs ?? 0;
  if (error instanceof ValidationError) return error.details.map(({ path }) => path).join();
  if (error instanceof HeraldError && error.code === "terms_not_accepted")
    return error.body?.current_version ?? error.code;
  return "unknown";
}
