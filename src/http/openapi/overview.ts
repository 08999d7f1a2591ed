import { DELIVERY_DEADLINE_MS } from "../../runtime/deadlines.ts";
import { SECOND } from "../../runtime/durations.ts";

/** What a developer reads before the first endpoint. */
export const OVERVIEW = `
Herald connects messaging channels and ad accounts to your product: it takes messages and delivers them, receives what
the platforms say and forwards it to you, and manages campaigns through the ad platform.

## Credentials

Send exactly one credential with each request.

- **API key**, for your backend: \`x-svc-api-key: svc_live_...\`. A key is shown once, when it is made, and holds the
  scopes it was given.
- **User token**, for a person: \`Authorization: Bearer <token>\`. Got by signing in, or from your identity provider; what the
  person may do follows from their role.

Each endpoint names the scope it needs, in its text and as \`x-required-scope\`. Everything you see belongs to your client;
what belongs to another is answered with 404, as if it did not exist.

## Requests

Bodies are JSON, in UTF-8, whatever their Content-Type says, unless an endpoint takes a file. A field or query parameter
that is not described here is refused by name, so that a misspelt one never goes unnoticed. In a PATCH, null counts as
absent unless the field says otherwise.

## Errors

Every answer from 400 up has one body:

\`\`\`json
{
  "error": "validation_failed",
  "message": "limit must be <= 100",
  "details": [{ "path": "/limit", "message": "limit must be <= 100" }],
  "request_id": "req_01jc8m4t7v2x5k9w3r6y1b0nqd"
}
\`\`\`

\`error\` is a stable code to program against, \`message\` a sentence for people that may change, and \`details\` names each
problem by a JSON pointer. Some codes bring fields of their own, such as \`required_scope\`. Accept codes and fields you do
not know.

## Repeating a request

Where an endpoint takes an \`Idempotency-Key\`, send one that you make up for each operation, a UUID for instance, and repeat the request with the
same key whenever you do not know what became of it: the operation is done once, and each repetition gets the first answer, with
\`Idempotent-Replay: true\`. A key is good for a day, for your client and for one endpoint. The same key with another body is 422; while the first
request is still at work, the answer may be 409 with \`Retry-After\`. Only a success is kept: after a refusal the key is free again.

## Lists

Lists take \`limit\`, \`after\` and \`before\`, and answer \`data\` with \`paging\`. Follow \`paging.cursors.after\` while
\`paging.has_more\` is true. A cursor is opaque, and good for the list and the client it was made for.

## Events

What happens on the platforms is sent to your backend: set its address by \`PATCH /api/webhooks/config\`, and read there which
event goes to which path below it. Each is a POST with a JSON body:

\`\`\`json
{
  "id": "evt_01jc...", "type": "message.received", "api_version": "2026-11-01", "key": "chatapp",
  "channel_id": "ch_01jc...", "occurred_at": "2026-11-01T09:30:00.000Z",
  "data": { "what we made of it": "the same for all platforms" },
  "raw": { "what the platform wrote": "as it wrote it" }
}
\`\`\`

\`x-webhook-token\` carries your token (\`POST /api/webhooks/config/generate-secret\`); compare it, or
verify the signature as [Standard Webhooks](https://www.standardwebhooks.com) defines it: \`webhook-signature\` is a list,
separated by spaces, of \`v1,\` and the base64 HMAC-SHA256 of \`webhook-id\`, \`webhook-timestamp\` and the body, joined by dots. The
key is what stands after \`whsec_\` in the token, decoded from base64; a token of your own in another form is the key as it is. Refuse what is
old by its timestamp, which is that of the attempt. \`x-webhook-event\` and \`x-webhook-attempt\` tell its
type and which attempt it is. \`POST /api/webhooks/test\` sends one to try.

Answer with any 2xx within ${DELIVERY_DEADLINE_MS / SECOND} seconds, and work on it afterwards. Everything else is a failure, a redirect too, and the event is
sent again: after 5 and 30 seconds, 2, 10 and 30 minutes, 1, 2, 4, 8 and 12 hours, and twice after a day, each time a little sooner or
later. \`Retry-After\` in your answer, in seconds or as a date, asks for more time, a day at most. After 13 attempts, or at once when you
answer 410, the event is \`failed\`. While your backend cannot be reached, or answers 5xx, again and again, it is left alone for a while, ten minutes at most, without
spending attempts.

An event may come twice, and after one that happened later: remember the \`webhook-id\` of what you have worked on, which is the
event's \`id\` and stays the same, and go by \`occurred_at\`. Accept types and fields you do not know. Whatever was recorded can be
read, with each attempt, and sent again, one by one or all of a time, under \`/api/webhooks/events\`.

## Rate limits

Requests are counted per client and minute. \`RateLimit-Limit\`, \`RateLimit-Remaining\` and \`RateLimit-Reset\` tell where
you stand. Over the limit the answer is 429 with \`Retry-After\`, in seconds.

## Request ids and versions

Every answer carries \`X-Request-Id\`: send your own to find a request again in your logs and in ours, and quote it when you
ask for help. \`X-Api-Version\` is the version of this interface. Changes only add; what will go is announced by
\`Deprecation\` and \`Sunset\` headers first.
`.trim();
