import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import t from "tap";
import * as messageErrors from "../../../src/domain/messages/message-errors.ts";
import { describeApi } from "../../../src/http/openapi/describe-api.ts";
import { READ_LIMITS } from "../../../src/http/request/body-memory.ts";
import { MINUTE } from "../../../src/runtime/durations.ts";
import { packageRoot } from "../../../src/runtime/package-root.ts";
import { MESSAGE_ERRORS } from "../../../src/schema/causes/causes.ts";
import { EVENT_TYPES, SIGNUP_ERROR_CODES } from "../../../src/schema/enumerations.ts";
import { DELIVERY_ERRORS, SIGNUP_ERRORS } from "../../../src/schema/stored-errors.ts";
import { productRoutes } from "../../fixtures/http/api.ts";

// biome-ignore lint/suspicious/noExplicitAny: the test knows the document's structure
type Loose = any;

const { info, paths, components }: Loose = JSON.parse(
  JSON.stringify(describeApi(productRoutes(), { publicUrl: "https://herald.example" })),
);

/** The sources that decide on the text of a delivery's error. */
const DELIVERY_ERROR_SOURCES = [
  "src/delivery/post-event.ts",
  "src/runtime/http/send-request.ts",
  "src/store/events/single-attempts.ts",
  "src/store/events/recover-deliveries.ts",
  "workers/dispatcher/delivering/outcomes.ts",
]
  .map((file) => readFileSync(join(packageRoot(), file), "utf8"))
  .join("\n");

t.test("the document lists every error that Herald stores, with its meaning", async (t) => {
  for (const errors of [MESSAGE_ERRORS, DELIVERY_ERRORS, SIGNUP_ERRORS])
    for (const [error, meaning] of Object.entries(errors))
      t.ok(info.description.includes(`| \`${error}\` | ${meaning} |`), error);
  const { code } = components.schemas.MessageErrorDto.properties;
  for (const error of Object.keys(MESSAGE_ERRORS)) t.match(code.description, error);
});

t.test("the listed errors are those of the source", async (t) => {
  const { UNKNOWN_ATTEMPT_ERRORS, toStoredError, ...single } = messageErrors;
  const codes = [...Object.values(single), ...Object.values(UNKNOWN_ATTEMPT_ERRORS)].map(({ code }) => code);
  t.same(new Set(Object.keys(MESSAGE_ERRORS)), new Set(codes));
  t.same(new Set(Object.keys(SIGNUP_ERRORS)), new Set(SIGNUP_ERROR_CODES));
  for (const error of Object.keys(DELIVERY_ERRORS))
    t.ok(
      ["'", '"'].some((quote) => DELIVERY_ERROR_SOURCES.includes(quote + error + quote)),
      error,
    );
  // The types check the words of the other sources. These words are part of an SQL statement.
  const [, quarantined, interrupted] =
    /last_error = case when \S+ then '(\w+)' else '(\w+)' end/.exec(DELIVERY_ERROR_SOURCES) ?? [];
  const [, begun] = /INTERRUPTED = "(\w+)"/.exec(DELIVERY_ERROR_SOURCES) ?? [];
  for (const error of [quarantined, interrupted, begun])
    t.ok(String(error) in DELIVERY_ERRORS, String(error));
});

t.test("the document names the limits of a route", async (t) => {
  const descriptionOf = (method: string, path: string) => paths[path][method].description;
  for (const path of ["/api/stats/messages", "/api/stats/events"])
    t.match(descriptionOf("get", path), /at most 25,000 rows/);
  t.match(descriptionOf("post", "/api/embed/sessions"), /at most 50 tries/);
  t.match(descriptionOf("post", "/api/embed/sessions"), /field of the body has at most 16 KiB/);
  for (const kind of ["campaigns", "adsets", "ads", "creatives"])
    t.match(descriptionOf("post", `/api/marketing/${kind}`), /field of the body has at most 1 MiB/);
});

t.test("the document and the guides name the time that a body may take", async (t) => {
  t.equal(READ_LIMITS.largeMaxMs, 10 * MINUTE);
  const guide = readFileSync(join(packageRoot(), "docs/guides/paging-idempotency-limits.md"), "utf8");
  for (const text of [components.responses.RequestTimeout.description, guide])
    t.match(text, /within 30 seconds[^.]*10 minutes/);
});

t.test("the document uses the names of the interface specification", async (t) => {
  for (const path of [
    "/api/embed/sessions/{sessionId}",
    "/api/embed/sessions/{sessionId}/revoke",
    "/api/marketing/ad-accounts/{id}",
    "/api/marketing/ad-accounts/{id}/refresh",
    "/api/marketing/ads/{adId}",
    "/api/marketing/adsets/{adSetId}",
    "/api/marketing/campaigns/{campaignId}",
    "/api/marketing/creatives/{creativeId}",
    "/api/marketing/insights/reports/{reportRunId}",
    "/api/marketing/insights/reports/{reportRunId}/results",
    "/api/webhooks/dispatch/{platform}",
  ])
    t.ok(paths[path], path);
  for (const name of ["CampaignDto", "AdSetDto", "AdDto"])
    t.same(components.schemas[name].required, ["id", "name"], name);
});

const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` });

t.test("the document names the union of all events and the result of a validation", async (t) => {
  const { EventDetailDto, StreamItemDto, Event } = components.schemas;
  for (const { properties } of [EventDetailDto, StreamItemDto]) t.same(properties.payload, refTo("Event"));
  t.equal(Event.discriminator.propertyName, "type");
  t.same(new Set(Object.keys(Event.discriminator.mapping)), new Set(EVENT_TYPES));
  t.equal(Event.discriminator.mapping["lead.created"], refTo("LeadCreatedEvent").$ref);
  const schemaOf = (path: string, method: string, status: number) =>
    paths[path][method].responses[status].content["application/json"].schema;
  t.same(schemaOf("/api/marketing/campaigns", "post", 200), refTo("ValidationResult"));
  t.same(schemaOf("/api/marketing/campaigns/{campaignId}", "patch", 200).anyOf, [
    refTo("CampaignDto"),
    refTo("ValidationResult"),
  ]);
});

t.test("the document describes the content of a received message by its type and refuses none", async (t) => {
  const { ReceivedMessageData, ReceivedText, MessageReceivedEvent } = components.schemas;
  t.same(MessageReceivedEvent.properties.data, refTo("ReceivedMessageData"));
  t.equal(ReceivedMessageData.discriminator.mapping.text, refTo("ReceivedText").$ref);
  t.equal(ReceivedMessageData.discriminator.mapping.echo, refTo("ReceivedOther").$ref);
  t.match(ReceivedText.properties, {
    from: refTo("Sender"),
    content: { anyOf: [refTo("ReceivedBody"), refTo("PageMessage")] },
  });
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: "api", components });
  const isValid = ajv.compile({ $ref: `api${refTo("ReceivedMessageData").$ref}` });
  const from = { id: "1" };
  for (const [type, content] of [
    ["text", { body: "Hi" }],
    ["text", { mid: "m_1", text: "Hi" }],
    ["text", null],
    ["hologram", { depth: 3 }],
    ["unsupported", null],
  ])
    t.ok(isValid({ from, type, content, later: true }), JSON.stringify([type, content]));
  t.notOk(isValid({ type: "text", content: { body: "Hi" } }), "each message has a sender");
});

t.test("the document names the writes that can be repeated", async (t) => {
  const writes = Object.entries<Loose>(paths).flatMap(([path, { get, ...others }]) =>
    Object.entries<Loose>(others)
      .filter(([, operation]) => operation["x-repeatable"])
      .map(([method]) => `${method} ${path}`),
  );
  t.same(
    new Set(writes),
    new Set([
      "delete /api/keys/{id}",
      "delete /api/outbound/messages/{message_id}",
      "post /api/auth/login",
      "post /api/auth/logout",
      "post /api/embed/sessions/{sessionId}/revoke",
      "post /api/marketing/images",
      "post /api/marketing/terms/accept",
      "post /api/outbound/batches/{batch_id}/cancel",
      "post /api/outbound/batches/{batch_id}/pause",
      "post /api/outbound/batches/{batch_id}/resume",
      "post /api/templates/list",
      "post /platform/data-deletion",
      "post /platform/deauthorize",
      "post /platform/webhook",
    ]),
  );
  t.match(info.description, /`x-repeatable: true` marks/);
});

t.test("the exchange of a code answers a missing permission with its own schema", async (t) => {
  const { $ref } = paths["/api/marketing/oauth/exchange"].post.responses[400];
  const { content } = components.responses[$ref.split("/").at(-1)];
  t.same(content["application/json"].schema.anyOf, [
    refTo("MissingPermissionResponseDto"),
    refTo("ErrorBody"),
  ]);
  const { properties, required } = components.schemas.MissingPermissionResponseDto;
  t.equal(properties.error.const, "missing_permission");
  t.same(required, ["error", "message", "request_id"]);
  t.equal(properties.missing.type, "array");
});
