import { acceptNewBatch } from "../../domain/batches/accept-batch.ts";
import {
  type BatchParts,
  type BatchRequest,
  requestChange,
  toBatch,
} from "../../domain/batches/change-batch.ts";
import type { PlatformLookup } from "../../domain/channels/channel-access.ts";
import {
  ApiError,
  channelNotConnected,
  channelNotFound,
  invalidField,
  invalidFields,
  notFound,
} from "../../http/api-error.ts";
import { listOf, listQuery, listReply, pageOf, pageRequest } from "../../http/lists.ts";
import { MIB, type Operation, type Route, route } from "../../http/route.ts";
import type { Config } from "../../runtime/config/config.ts";
import { newId, timeOfId } from "../../runtime/ids.ts";
import { stringifyJson } from "../../runtime/json/json.ts";
import { type AcceptedBatchDto, acceptedBatch, batch, MAX_BATCH_MESSAGES } from "../../schema/batches.ts";
import type { BatchStatus } from "../../schema/enumerations.ts";
import { toTimestamp } from "../../schema/times.ts";
import { MAX_UNFINISHED_BATCHES } from "../../store/batches/accept-batch.ts";
import { findBatch, listBatches } from "../../store/batches/batches.ts";
import {
  keyColumnsOf,
  MAX_CONTENT_BYTES,
  optionsOf,
  readSendTime,
  replayOrThrow,
  temporarilyUnavailable,
} from "./acceptance.ts";
import { type CheckedEntries, createEntryCheck } from "./batch-entries.ts";
import { batchFilters, batchParams, type SendBatchDto, sendBatch, sendBatchDocs } from "./batch-schema.ts";
import { createPlatformRules } from "./platform-rules.ts";

interface BatchRouteParts extends Omit<BatchParts, "db"> {
  settings: Pick<Config, "CHANNEL_RATE_PER_SECOND">;
  platformOf: PlatformLookup;
}

export function batchRoutes(parts: BatchRouteParts): Route[] {
  return [
    sendRoute(parts),
    route({
      method: "get",
      path: "/api/outbound/batches",
      operationId: "listBatches",
      scope: "messages:send",
      summary: "List batches, newest first",
      query: listQuery(batchFilters),
      reply: listOf(batch),
      async handle({ db, caller, query, cursors }) {
        const page = pageRequest(query, cursors);
        const { channel_id, status } = query;
        const rows = await listBatches(db, caller.clientId, { page, filters: { channel_id, status } });
        const found = pageOf(rows, page, ({ id }) => id);
        return listReply({ ...found, data: found.data.map(toBatch) }, cursors);
      },
    }),
    route({
      method: "get",
      path: "/api/outbound/batches/{batch_id}",
      operationId: "getBatch",
      scope: "messages:send",
      summary: "Read a batch and the counts of its messages",
      params: batchParams,
      reply: batch,
      async handle({ db, caller, params }) {
        const row = await findBatch(db, caller.clientId, params.batch_id);
        if (!row) throw notFound("batch");
        return toBatch(row);
      },
    }),
    changeRoute(parts, "pause", {
      operationId: "pauseBatch",
      summary: "Pause a batch",
      description:
        "Sends nothing more of a batch that is scheduled or running until it is resumed. Messages that are being sent at this moment are finished. The time of the pause does not count for the 24 hours within which its messages must be sent.",
    }),
    changeRoute(parts, "resume", {
      operationId: "resumeBatch",
      summary: "Resume a paused batch",
      description: "The batch continues, or is scheduled again while its `send_at` lies ahead.",
    }),
    changeRoute(parts, "cancel", {
      operationId: "cancelBatch",
      summary: "Cancel a batch",
      description:
        "Cancels all of its messages that are not being sent at this moment. The event `batch.updated` has the counts; there is no `message.status` for each message.",
    }),
  ];
}

interface ChangeDocs {
  operationId: string;
  summary: string;
  description: string;
}

const changeRoute = (
  { notifier, messageNotifier }: BatchRouteParts,
  request: BatchRequest,
  { operationId, summary, description }: ChangeDocs,
): Route =>
  route({
    method: "post",
    path: `/api/outbound/batches/{batch_id}/${request}`,
    operationId,
    scope: "messages:send",
    summary,
    description: `${description} Repeating the request is no error.`,
    errors: ["not_found", "invalid_state_transition"],
    repeatable: true,
    params: batchParams,
    reply: batch,
    async handle({ db, caller: { clientId }, params: { batch_id: batchId } }) {
      const result = await requestChange({ db, notifier, messageNotifier }, { clientId, batchId, request });
      switch (result.outcome) {
        case "done":
          return result.batch;
        case "refused":
          throw new ApiError(
            "invalid_state_transition",
            `The batch cannot ${request}: it is ${result.status}`,
          );
        case "not_found":
          throw notFound("batch");
      }
    },
  });

const MAX_BATCH_BYTES = 4 * MIB;
/** 100 for each message; other routes allow fewer in all. */
const MAX_BATCH_VALUES = 100 * MAX_BATCH_MESSAGES;

function sendRoute({ messageNotifier, platformOf, settings }: BatchRouteParts): Route {
  const rules = createPlatformRules();
  const checkEntries = createEntryCheck(rules);
  const maxRate = settings.CHANNEL_RATE_PER_SECOND;

  return route({
    method: "post",
    path: "/api/outbound/batches",
    operationId: "sendBatch",
    scope: "messages:send",
    idempotent: "idempotency_keys",
    requiresKey: true,
    summary: "Send a message to many people",
    description: `Queues up to ${MAX_BATCH_MESSAGES} messages with common content. Fields of a message replace those of the common content: \`components\` of a template, \`body\` of a text. Valid messages are accepted together; \`rejected\` lists the others. If none is valid, the answer is 400 and nothing is accepted. A batch never delays single messages of its channel. It pauses by itself when its channel is not connected, its template is stopped, or most of its messages fail with the same error. A client has at most ${MAX_UNFINISHED_BATCHES} unfinished batches. The body has at most ${MAX_BATCH_BYTES / MIB} MiB.`,
    errors: ["unsupported_message_type", "invalid_recipient", "not_found", "channel_disconnected"],
    body: sendBatch,
    bodyDocs: sendBatchDocs,
    maxBodyBytes: MAX_BATCH_BYTES,
    maxValues: MAX_BATCH_VALUES,
    listOfItems: "messages",
    status: 202,
    reply: acceptedBatch,
    loggedId: "batch_id",
    location: ({ batch_id }) => `/api/outbound/batches/${batch_id}`,
    async handle({ db, caller: { clientId }, body, operation: keyed, requestId }) {
      const operation = keyed as Operation; // the route requires a key
      const platform = await platformOf(clientId, body.channel_id);
      if (!platform) return replayOrThrow(db, clientId, { operation, error: channelNotFound() });
      const content = stringifyJson(body[body.type]);
      checkOwnFields(body, content, maxRate);
      rules.checkContent(platform, body);
      const time = await readSendTime(db, body.send_at);
      if (time instanceof ApiError) return replayOrThrow(db, clientId, { operation, error: time });
      const id = newId("bat");
      const entries = await checkEntries({ platform, body, contentBytes: Buffer.byteLength(content) });
      if (entries.messages.length === 0) throw noneValid(entries);
      const status = time.isScheduled ? "scheduled" : "running";
      const reply = toReply({ id, status }, entries);
      const acceptance = await acceptNewBatch(
        { db, messageNotifier },
        {
          ...{ clientId, requestId, id, status, content, sendAt: time.send_at, options: optionsOf(body) },
          ...{ fields: body, messages: entries.messages, key: keyColumnsOf(operation, reply) },
        },
      );
      switch (acceptance.outcome) {
        case "accepted":
          return reply;
        case "known":
          return operation.replay(acceptance.key);
        case "not_connected":
          throw channelNotConnected(acceptance.status);
        case "no_channel":
          throw channelNotFound();
        case "too_many":
          throw tooManyBatches();
        case "contended":
          throw temporarilyUnavailable();
      }
    },
  });
}

function checkOwnFields({ type, rate_per_second = 1 }: SendBatchDto, content: string, maxRate: number): void {
  if (Buffer.byteLength(content) > MAX_CONTENT_BYTES)
    throw invalidField(`/${type}`, `${type} must have at most ${MAX_CONTENT_BYTES} bytes`);
  if (rate_per_second > maxRate)
    throw invalidField(
      "/rate_per_second",
      `rate_per_second must be at most ${maxRate}, the rate of the channel`,
    );
}

const toReply = (
  { id, status }: { id: string; status: BatchStatus },
  { messages, rejected }: CheckedEntries,
): AcceptedBatchDto => ({
  batch_id: id,
  status,
  accepted: messages.length,
  rejected,
  created_at: toTimestamp(new Date(timeOfId(id))),
});

/** The error has the first faults: one of each message would make it as large as the request. */
const MAX_DETAILS = 20;

const noneValid = ({ rejected }: CheckedEntries): ApiError =>
  invalidFields(
    rejected
      .slice(0, MAX_DETAILS)
      .map(({ index, error, message }) => ({ path: `/messages/${index}`, code: error, message })),
  );

const tooManyBatches = (): ApiError =>
  new ApiError(
    "rate_limited",
    `At most ${MAX_UNFINISHED_BATCHES} batches can be unfinished at the same time: wait until one is finished, or cancel one`,
    { headers: { "Retry-After": "60" } },
  );
