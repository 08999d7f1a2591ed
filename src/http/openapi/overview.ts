import { DELIVERY_DEADLINE_MS } from "../../runtime/deadlines.ts";
import { SECOND } from "../../runtime/durations.ts";
import { MESSAGE_ERRORS } from "../../schema/causes/causes.ts";
import { DELIVERY_ERRORS, SIGNUP_ERRORS } from "../../schema/stored-errors.ts";

/** The rows of a Markdown table of stored errors. */
const rowsOf = (errors: Readonly<Record<string, string>>) =>
  Object.entries(errors)
    .map(([error, meaning]) => `| \`${error}\` | ${meaning} |`)
    .join("\n");

/** The introduction of the API reference. */
export const OVERVIEW = `
Herald connects messaging channels and ad accounts to your product. It sends your messages, receives the platforms'
webhooks and forwards them to your backend as events, and keeps the ad accounts of your customers connected.

## Credentials

Send exactly one credential with each request.

- **API key**, for your backend: \`x-svc-api-key: svc_live_...\`. A key has the scopes it was created with and is shown
  only once, when it is created. \`Authorization: Bearer svc_live_...\` is accepted too.
- **User token**, for a person: \`Authorization: Bearer <token>\`. You get it by signing in or from your identity
  provider. What it may do follows from the person's role.

Each endpoint names the scope it requires, in its description and as \`x-required-scope\`. You see only the objects of
your own client; any other object is answered with 404.

## Requests

Bodies are JSON in UTF-8, regardless of their Content-Type, unless an endpoint takes a file. An unknown field or query
parameter is rejected by name, so that a typo never goes unnoticed. In a PATCH, null counts as absent unless the field's
description gives null a meaning. A body has at most 10 MiB, 100 levels and 50,000 values; on endpoints without a
credential it has at most 16 KiB.

## Errors

Every response with a status of 400 or above has the same body:

\`\`\`json
{
  "error": "validation_failed",
  "message": "limit must be at most 100",
  "details": [{ "path": "/limit", "message": "limit must be at most 100" }],
  "documentation": "/docs/guides/paging-idempotency-limits#requests",
  "request_id": "req_01jc8m4t7v2x5k9w3r6y1b0nqd"
}
\`\`\`

\`error\` is a stable code to program against. \`message\` is for people and may change. \`details\` names each problem by a
JSON pointer. \`documentation\` is the path of the guide section that helps. Some codes add fields, such as
\`required_scope\`. Accept codes and fields that you do not know.

## Idempotency

Where an endpoint accepts an \`Idempotency-Key\`, send a new one for each operation, for example a UUID. If you do not know
whether a request succeeded, repeat it with the same key: the operation is carried out only once, and each repetition gets
the first response, with \`Idempotent-Replay: true\`. A key is valid for one day, for your client and for one endpoint. The
same key with a different body is answered with 422. While the first request is still in progress, the response may be 409
with \`Retry-After\`. Only a success is stored: after an error you can use the key again.

\`x-repeatable: true\` marks the endpoints that need no key: all reads, and the writes whose repetition does no harm. If you
do not know whether such a request succeeded, repeat it. Repeat any other request without a key only after you have read
what became of it.

## Lists

Lists accept \`limit\`, \`after\` and \`before\`, and return \`data\` and \`paging\`. Pass \`paging.cursors.after\` as \`after\`
while \`paging.has_more\` is true. Cursors are opaque and valid only for the list and client that they were issued for.

## Events

Herald sends events to your backend. Set its base URL with \`PATCH /api/webhooks/config\`; the response lists the URL to
which each type of event is sent. Each event is a POST with a JSON body:

\`\`\`json
{
  "id": "evt_01jc...", "type": "message.received", "api_version": "2026-11-01", "key": "chatapp",
  "channel_id": "ch_01jc...", "channel_external_ref": "store-42",
  "occurred_at": "2026-11-01T09:30:00.000Z", "recorded_at": "2026-11-01T09:30:00.412Z",
  "data": { "normalised content": "the same for all platforms" },
  "raw": { "original content": "as the platform sent it" }
}
\`\`\`

The section *Event types* and \`webhooks\` in the OpenAPI document describe the payload of each type.

**Authenticate** each event. Either compare the header \`x-webhook-token\` with your token
(\`POST /api/webhooks/config/generate-secret\`; \`token_header: false\` in the configuration removes the header), or
verify the signature as defined by
[Standard Webhooks](https://www.standardwebhooks.com): \`webhook-signature\` is a space-separated list of signatures. Each is
\`v1,\` followed by the base64 HMAC-SHA256 of \`webhook-id\`, \`webhook-timestamp\` and the body, joined by dots. The HMAC key is
the part of the token after \`whsec_\`, decoded from base64; a token of your own in any other format is used as it is.
\`webhook-timestamp\` is the time of the attempt: reject old ones. \`x-webhook-event\` is the event's type and
\`x-webhook-attempt\` the number of the attempt. \`POST /api/webhooks/test\` sends a test event.

**Answer** with any 2xx status within ${DELIVERY_DEADLINE_MS / SECOND} seconds and process the event afterwards. Any other answer, including a redirect, is a
failure. Failed deliveries are retried after 5 and 30 seconds, 2, 10 and 30 minutes, 1, 2, 4, 8 and 12 hours, and twice
after 24 hours, with some jitter. \`Retry-After\` in your answer, in seconds or as a date, extends the delay, up to one day.
After 13 attempts the event is \`failed\`; if you answer 410, it is \`failed\` immediately. If your backend repeatedly cannot be
reached or answers 5xx, deliveries pause for up to ten minutes at a time, without using up attempts.

**Expect** duplicates and events out of order: deduplicate by \`webhook-id\`, which is the event's \`id\` and the same on every
attempt, order by \`recorded_at\`, and never move a message's status backwards. Accept types and fields that you do
not know. Under \`/api/webhooks/events\` you can read
every event with its attempts, and send events again, one by one or all of a period.

## Stored errors

Herald stores why something failed after a request was accepted. Accept words that you do not know.

\`error.code\` of a message is the platform's number, or one of these:

| \`code\` | meaning |
|---|---|
${rowsOf(MESSAGE_ERRORS)}

\`last_error\` of an event and \`error\` of a delivery attempt are \`HTTP\` with the status of your backend's answer, such as
\`HTTP 503\`, or one of these:

| \`last_error\` | meaning |
|---|---|
${rowsOf(DELIVERY_ERRORS)}

\`error.code\` of an embedded signup session is one of these:

| \`code\` | meaning |
|---|---|
${rowsOf(SIGNUP_ERRORS)}

## Rate limits

Requests are counted per client and minute. \`RateLimit-Limit\`, \`RateLimit-Remaining\` and \`RateLimit-Reset\` report the
current state. Over the limit the response is 429 with \`Retry-After\`, in seconds.

## Request ids and versions

Every response carries \`X-Request-Id\`. Send your own value to find a request in your logs and in Herald's, and quote it
when you ask for help. \`X-Api-Version\` is the version of this API. Within a version, changes are additions only; removals
are announced with \`Deprecation\` and \`Sunset\` headers first.
`.trim();
