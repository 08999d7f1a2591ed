import type { PlatformLookup } from "../../domain/channels/channel-access.ts";
import type { MessageIntake } from "../../domain/messages/accept-message.ts";
import { explainMessage } from "../../domain/messages/explain-message.ts";
import { readTimeline, toMessage, toQueuedMessage } from "../../domain/messages/message-timeline.ts";
import {
  ApiError,
  channelNotConnected,
  channelNotFound,
  errorOf,
  invalidField,
  invalidFields,
  notFound,
  overloaded,
} from "../../http/api-error.ts";
import { listOf, listQuery, listReply, pageOf, pageRequest, periodOf } from "../../http/lists.ts";
import { type Operation, type Route, route } from "../../http/route.ts";
import { isTranslatable } from "../../platforms/pages/messages.ts";
import { recipientKind } from "../../platforms/sends.ts";
import type { QueueParts } from "../../queue/queue-status.ts";
import { SEND_TTL_MS } from "../../runtime/deadlines.ts";
import { HOUR } from "../../runtime/durations.ts";
import { newId } from "../../runtime/ids.ts";
import { stringifyJson } from "../../runtime/json/json.ts";
import type { Platform, RecipientKind } from "../../schema/enumerations.ts";
import {
  MAX_TIMELINE_ENTRIES,
  message,
  messageExplanation,
  messageTimeline,
  type QueuedMessageDto,
  queuedMessage,
} from "../../schema/messages.ts";
import { openObject, type TSchema, Type } from "../../schema/types.ts";
import { type Check, createValidator } from "../../schema/validate.ts";
import type { Queryable } from "../../store/database/database.ts";
import { findMessage, listMessages } from "../../store/messages/messages.ts";
import { findIdempotencyKey } from "../../store/tenants/idempotency-keys.ts";
import {
  messageFilters,
  messageParams,
  type SendMessageDto,
  sendMessage,
  sendMessageDocs,
} from "./schema.ts";

interface OutboundParts extends SendParts, Omit<QueueParts, "db"> {}

interface SendParts {
  intake: MessageIntake;
  platformOf: PlatformLookup;
}

export function outboundRoutes({ redis, tags, ...parts }: OutboundParts): Route[] {
  return [
    sendRoute(parts),
    route({
      method: "get",
      path: "/api/outbound/messages",
      operationId: "listMessages",
      scope: "messages:send",
      summary: "List outbound messages, newest first",
      query: listQuery(messageFilters),
      reply: listOf(message),
      async handle({ db, caller, query, cursors }) {
        const { since, until, limit, after, before, ...values } = query;
        const page = pageRequest(query, cursors);
        const filters = { ...values, ...periodOf(query) };
        const rows = await listMessages(db, caller.clientId, { page, filters });
        const found = pageOf(rows, page, ({ id }) => id);
        return listReply({ ...found, data: found.data.map(toMessage) }, cursors);
      },
    }),
    route({
      method: "get",
      path: "/api/outbound/messages/{message_id}",
      operationId: "getMessage",
      scope: "messages:send",
      summary: "Read a message and its status",
      params: messageParams,
      reply: message,
      async handle({ db, caller, params }) {
        const row = await findMessage(db, caller.clientId, params.message_id);
        if (!row) throw notFound("message");
        return toMessage(row);
      },
    }),
    route({
      method: "get",
      path: "/api/outbound/messages/{message_id}/explanation",
      operationId: "getMessageExplanation",
      scope: "messages:send",
      summary: "Read why a message is as it is, and what to do",
      description:
        "One cause, with a sentence for people, who can change it and how. A message that the platform has takes the reason of its undelivered events. The guide on errors lists all causes.",
      params: messageParams,
      reply: messageExplanation,
      async handle({ db, caller, params: { message_id } }) {
        const explanation = await explainMessage({ db, redis, tags }, caller.clientId, message_id);
        if (!explanation) throw notFound("message");
        return explanation;
      },
    }),
    route({
      method: "get",
      path: "/api/outbound/messages/{message_id}/timeline",
      operationId: "getMessageTimeline",
      scope: "messages:send",
      summary: "Read what happened to a message, oldest first",
      description: `The acceptance, the attempts at the platform, the statuses, the events about the message and the attempts to deliver them. The time of an event is when it was recorded. The time of a status may be the platform's, but is not before that of the status before it. The response has at most ${MAX_TIMELINE_ENTRIES} entries: later attempts to deliver are left out, and \`GET /api/webhooks/events/{id}\` has them. Events are kept for a shorter time than messages.`,
      params: messageParams,
      reply: messageTimeline,
      async handle({ db, caller, params: { message_id } }) {
        const found = await readTimeline(db, caller.clientId, message_id);
        if (!found) throw notFound("message");
        return { message_id, data: found.timeline };
      },
    }),
  ];
}

/** Larger than any message that a platform accepts. */
const MAX_CONTENT_BYTES = 256 * 1_024;

const temporarilyUnavailable = () =>
  new ApiError("temporarily_unavailable", "The message cannot be accepted right now, please try again");

function sendRoute({ intake, platformOf }: SendParts): Route {
  const checkPlatformRules = createPlatformRules();

  /** A repeated request gets its first reply even if the channel no longer exists. */
  async function replayWithoutChannel(db: Queryable, clientId: string, operation: Operation | undefined) {
    const key = operation && (await findIdempotencyKey(db, clientId, operation.id));
    if (key) return operation.replay(key);
    throw channelNotFound();
  }

  return route({
    method: "post",
    path: "/api/outbound/send",
    operationId: "sendMessage",
    scope: "messages:send",
    idempotent: "idempotency_keys",
    summary: "Send a message",
    description: `Queues the message and sends it as soon as the platform accepts it. The message fails if that takes more than ${SEND_TTL_MS / HOUR} hours. The events \`message.send_result\` and \`message.status\` report the outcome, which can also be read with \`GET /api/outbound/messages/{message_id}\`. Messages to one person are sent in the order in which they were accepted. The content has at most ${MAX_CONTENT_BYTES / 1_024} KiB.`,
    errors: [
      "unsupported_message_type",
      "invalid_recipient",
      "not_found",
      "channel_disconnected",
      "overloaded",
    ],
    body: sendMessage,
    bodyDocs: sendMessageDocs,
    maxFieldBytes: MAX_CONTENT_BYTES,
    status: 202,
    reply: queuedMessage,
    loggedId: "message_id",
    location: ({ message_id }) => `/api/outbound/messages/${message_id}`,
    async handle({ db, caller: { clientId }, body, operation, requestId }) {
      const platform = await platformOf(clientId, body.channel_id);
      if (!platform) return replayWithoutChannel(db, clientId, operation);
      const message = toNewMessage(body, checkPlatformRules(platform, body));
      const reply = toQueuedMessage({ ...message, platform });
      const acceptance = await intake.accept({
        client_id: clientId,
        request_id: requestId,
        ...message,
        ...keyOf(operation, reply),
      });
      switch (acceptance.outcome) {
        case "accepted":
          return reply;
        case "known": // only possible with an Idempotency-Key
          return (operation as Operation).replay(acceptance.key);
        case "not_connected":
          throw channelNotConnected(acceptance.status);
        case "no_channel":
          throw channelNotFound();
        case "overloaded":
          throw overloaded();
        case "contended":
        case "unavailable":
          throw temporarilyUnavailable();
        case "unknown":
          throw errorOf("outcome_unknown");
      }
    },
  });
}

const keyOf = (operation: Operation | undefined, reply: QueuedMessageDto) => ({
  key_id: operation?.id ?? null,
  fingerprint: operation?.fingerprint ?? null,
  reply_sealed: operation?.seal(reply) ?? null,
});

const toNewMessage = (body: SendMessageDto, kind: string) => ({
  id: newId("msg"),
  channel_id: body.channel_id,
  recipient: body.to,
  recipient_kind: kind,
  type: body.type,
  content: stringifyJson(body[body.type]),
  options: optionsOf(body),
  external_ref: body.external_ref ?? null,
});

/** The other send options as JSON; null when there are none. */
function optionsOf({ context, messaging_type, tag }: SendMessageDto): string | null {
  if (context === undefined && messaging_type === undefined && tag === undefined) return null;
  return JSON.stringify({ context, messaging_type, tag });
}

const forbidden = (message: string) => Type.Optional(Type.Unsafe<never>({ not: {}, "x-message": message }));

const pagesOnly = (field: string) => forbidden(`${field} is only for photoapp and socialapp channels`);

/** Text limits of pages and photo accounts, where a caption is sent as a separate text. */
function pageRules(text: TSchema): TSchema {
  const media = (type: string) =>
    Type.Optional(
      openObject({
        id: forbidden(`${type}.id is only for chatapp channels: send a link`),
        caption: Type.Optional(text),
      }),
    );
  return openObject({
    text: Type.Optional(openObject({ body: text })),
    image: media("image"),
    video: media("video"),
    audio: media("audio"),
    document: media("document"),
  });
}

/** Rules of each platform, in addition to the common schema. */
const PLATFORM_RULES: Readonly<Record<Platform, TSchema>> = {
  chatapp: openObject({ messaging_type: pagesOnly("messaging_type"), tag: pagesOnly("tag") }),
  photoapp: pageRules(Type.Unsafe<string>({ type: "string", "x-max-bytes": 1000 })),
  socialapp: pageRules(Type.String({ maxLength: 2000 })),
};

const RECIPIENT_FORMATS: Readonly<Record<Platform, string>> = {
  chatapp:
    "a phone number with country code (7 to 15 digits, not starting with 0) or a business-scoped id such as US.13491208655302741918",
  photoapp: "the person's id at the photo account, digits only",
  socialapp: "the person's id at the page, digits only",
};

/** Returns the kind of recipient; throws a 400 if the message is invalid on the platform. */
type PlatformRules = (platform: Platform, message: SendMessageDto) => RecipientKind;

function createPlatformRules(): PlatformRules {
  const validator = createValidator();
  const checks = Object.fromEntries(
    Object.entries(PLATFORM_RULES).map(([platform, rules]) => [platform, validator.json(rules)]),
  ) as Record<Platform, Check>;
  return (platform, message) => {
    if (message.platform !== undefined && message.platform !== platform)
      throw invalidField("/platform", `platform must be ${platform}, the channel's platform`);
    if (platform !== "chatapp" && !isTranslatable(platform, message.type))
      throw unsupported(platform, message);
    const problems = checks[platform](message);
    if (problems.length > 0) throw invalidFields(problems);
    const kind = recipientKind(message.to, platform);
    if (kind === undefined) throw invalidRecipient(platform, message);
    return kind;
  };
}

function unsupported(platform: Platform, { type }: SendMessageDto): ApiError {
  const message = `A ${platform} channel cannot send messages of type ${type}`;
  return new ApiError("unsupported_message_type", message, { details: [{ path: "/type", message }] });
}

function invalidRecipient(platform: Platform, { to }: SendMessageDto): ApiError {
  const message = to.startsWith("+")
    ? "to must be a phone number with country code, digits only: no +, spaces or dashes"
    : `to must be ${RECIPIENT_FORMATS[platform]}`;
  return new ApiError("invalid_recipient", message, { details: [{ path: "/to", message }] });
}
