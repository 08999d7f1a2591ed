/** Compiled by `npm test`: each marked line is a mistake, which must not compile. */
import { Herald, type HeraldError } from "@herald/sdk";
import { type Event, unwrap } from "@herald/sdk/webhooks";

const herald = new Herald({ baseUrl: "https://herald.example.com", apiKey: "svc_test_1" });
const target = { channel_id: "ch_1", to: "5511988887777" };
const image = { link: "https://shop.example/a.png" };

// @ts-expect-error: the address is missing
new Herald({ apiKey: "svc_test_1" });
// @ts-expect-error: there is no such option
new Herald({ baseUrl: "https://herald.example.com", api_key: "svc_test_1" });

// @ts-expect-error: the text is missing
herald.messages.send({ ...target, type: "text" });
// @ts-expect-error: the body of the text is missing
herald.messages.send({ ...target, type: "text", text: {} });
// @ts-expect-error: an image is not the content of a text
herald.messages.send({ ...target, type: "text", image });
// @ts-expect-error: there is no such type
herald.messages.send({ ...target, type: "letter", text: { body: "Hi" } });
// @ts-expect-error: an answer has no such field
herald.messages.send({ ...target, type: "image", image }).then(({ id }) => id);
// @ts-expect-error: no message can be waited for until it is queued
herald.messages.waitUntil("msg_1", "queued");
// @ts-expect-error: a read takes no Idempotency-Key
herald.messages.get("msg_1", { idempotencyKey: "order-1" });
// @ts-expect-error: there is no such status
herald.messages.list({ status: "lost" });
// @ts-expect-error: the limit is missing
herald.messages.list().toArray();
// @ts-expect-error: a list is not a promise of items
herald.messages.list().then((messages) => messages);
// @ts-expect-error: the message's id is missing
herald.messages.get();

// @ts-expect-error: a batch has messages
herald.batches.send({ channel_id: "ch_1", type: "text", text: {} });
// @ts-expect-error: only the messages of a batch of texts have a body
herald.batches.send({ channel_id: "ch_1", type: "image", image, messages: [{ to: "1", body: "Hi" }] });
// @ts-expect-error: there is no such status
herald.batches.list({ status: "ended" });

// @ts-expect-error: the objective is missing
herald.campaigns.create({ ad_account_id: "act_1", name: "Winter", special_ad_categories: [] });
// @ts-expect-error: the check of a request returns nothing
herald.campaigns.validate({} as never).then(({ id }) => id);
// @ts-expect-error: creatives cannot be changed
herald.creatives.update("1", { ad_account_id: "act_1" });
// @ts-expect-error: the account is missing
herald.insights.report({ fields: "spend" });
// @ts-expect-error: there is no such event type
herald.events.stream({ types: ["message.lost"] });
// @ts-expect-error: a parsed body cannot be verified
unwrap({ id: "evt_1" }, {}, "secret");
// @ts-expect-error: there is no such namespace
herald.mail.send();

export function read(event: Event, error: HeraldError): unknown[] {
  // @ts-expect-error: only some events have an outcome
  const outcome = event.data.outcome;
  // @ts-expect-error: there is no such code
  const isLost = error.code === "message_lost";
  if (event.type !== "message.received") return [outcome, isLost];
  // @ts-expect-error: only some messages have a text
  const text = event.data.content.text;
  if (event.data.type !== "text") return [text];
  // @ts-expect-error: a text has no caption
  return [event.data.content.caption];
}
