import { invalidateChannelToken } from "../../../src/domain/channels/channels.ts";
import { contentOf, sendOptionsOf } from "../../../src/domain/messages/message-content.ts";
import type { MessageError } from "../../../src/domain/messages/message-errors.ts";
import type { PlatformError } from "../../../src/platforms/errors/verdicts.ts";
import { type PagePlatform, toPageBodies } from "../../../src/platforms/pages/messages.ts";
import type { Platforms } from "../../../src/platforms/platforms.ts";
import type { PreparedSend, SendOutcome } from "../../../src/platforms/sends.ts";
import { createBatcher } from "../../../src/runtime/async/batcher.ts";
import { MAX_START_DELAY_MS } from "../../../src/runtime/deadlines.ts";
import type { Log } from "../../../src/runtime/log.ts";
import { openChannelToken } from "../../../src/security/sealed-tokens.ts";
import type { SecretBox } from "../../../src/security/secret-box.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { type ClaimedSend, markSending, type SendMark } from "../../../src/store/messages/claim-sends.ts";
import type { Claim } from "../claim-loop.ts";
import {
  accepted,
  internalFailure,
  type MessageOutcome,
  notAttempted,
  type Progress,
  type RequestTimes,
  refused,
  retryAfterReconnect,
  retryLater,
  settled,
  toMessageError,
  unknown,
} from "./outcomes.ts";
import type { SendControl } from "./sends.ts";

interface SenderParts extends RequestParts {
  db: Database;
  log: Log;
  /** Milliseconds that a send of unknown outcome waits for a status webhook. */
  unknownTimeoutMs: number;
}

interface SendParts extends SenderParts, Omit<SendControl, "isStopped"> {
  /** False when the process stops, or when the claim was so long ago that the lease may be lost. */
  mayStart: boolean;
  /** Records that a request is about to be sent. */
  mark(mark: Omit<SendMark, "lease">): Promise<MarkOutcome>;
}

const MAX_MARK_BATCH_ROWS = 100;

/** Sends one message under its lease; undefined when the lease is lost and another worker decides the outcome. */
export function createMessageSender(parts: SenderParts) {
  const marks = createBatcher<SendMark, MarkOutcome>({
    maxItems: MAX_MARK_BATCH_ROWS,
    async run(batch) {
      const { markedIds, isHeld } = await markSending(parts.db, batch);
      if (isHeld) return () => "not_written";
      const marked = new Set(markedIds);
      return ({ id }) => (marked.has(id) ? "marked" : "lost");
    },
  });
  return async (row: ClaimedSend, { lease, claimedAt }: Claim, { isStopped, ...control }: SendControl) => {
    const mayStart = !isStopped() && performance.now() - claimedAt <= MAX_START_DELAY_MS;
    const mark = (sendMark: Omit<SendMark, "lease">) => marks.add({ ...sendMark, lease });
    return sendMessage({ ...parts, ...control, mayStart, mark }, row);
  };
}

async function sendMessage(parts: SendParts, row: ClaimedSend): Promise<MessageOutcome | undefined> {
  const ids = row.parts_sent > 0 ? [row.platform_message_id] : [];
  let requests: RequestTimes = { durationMs: 0, statusCode: null };
  const progress = (): Progress => ({
    ids,
    at: new Date(),
    requests,
    unknownTimeoutMs: parts.unknownTimeoutMs,
  });
  if (row.is_settled) return settled(progress());
  if (!parts.mayStart) return notAttempted(progress());
  try {
    for (const request of requestsOf(parts, row).slice(ids.length)) {
      const pause = await request.findPause();
      if (pause) return retryLater(row, progress(), pause);
      const begun = await beginAttempt(parts, row, ids);
      if (begun === "lost") return undefined;
      if (begun !== "marked") return notAttempted(progress());
      parts.tracked.resume();
      const sent = await sendRequest(request, requests);
      const { outcome } = sent;
      requests = sent.requests;
      parts.tracked.resume();
      if (outcome.outcome !== "accepted")
        return await outcomeOfFailedRequest(parts, row, { outcome, progress: progress() });
      ids.push(storableId(outcome.platformMessageId));
    }
    return accepted(row, progress());
  } catch (error) {
    return internalFailure(
      row,
      progress(),
      error instanceof Error ? error : new Error("the message could not be built", { cause: error }),
    );
  }
}

/** Adds the times of a request to those of the requests before it. */
async function sendRequest(request: PreparedSend, before: RequestTimes) {
  const [startedAt, began] = [new Date(), performance.now()];
  // The request may have been sent even when it throws.
  const outcome = await request.send().catch((): SendOutcome => ({ outcome: "unknown", reason: "fault" }));
  const requests: RequestTimes = {
    startedAt: before.startedAt ?? startedAt,
    durationMs: before.durationMs + Math.round(performance.now() - began),
    statusCode: outcome.statusCode ?? null,
  };
  return { outcome, requests };
}

/** Null for an id that the index cannot store; status webhooks with such an id match no message. */
const storableId = (id: string | undefined): string | null =>
  id !== undefined && /^[\x21-\x7e]{1,512}$/.test(id) ? id : null;

/** `not_written` without a token, while the database is unavailable or the queue is held; `lost` without a lease. */
type MarkOutcome = "marked" | "lost" | "not_written";

/** All that may wait comes before the mark: a message whose dispatcher dies between the mark and the request is never sent. */
async function beginAttempt(
  parts: SendParts,
  row: ClaimedSend,
  ids: readonly (string | null)[],
): Promise<MarkOutcome> {
  const isFirst = ids.length === 0;
  if (isFirst && !(await parts.hasToken("mark"))) return "not_written";
  const outcome = await markAttempt(parts, row, ids);
  // A mark that took long, such as on a slow disk, needs another token to keep the rate.
  if (outcome === "marked" && isFirst && !(await parts.hasToken("request"))) return "not_written";
  return outcome;
}

/** No request is sent without this mark: after a crash, an unmarked send counts as not sent. */
async function markAttempt(
  { mark }: SendParts,
  row: ClaimedSend,
  ids: readonly (string | null)[],
): Promise<MarkOutcome> {
  const { client_id, id } = row;
  const sendMark = { client_id, id, parts_sent: ids.length, platform_message_id: ids[0] ?? null };
  // After a longer pause the lease may be lost, and the message may have failed meanwhile.
  const began = performance.now();
  return mark(sendMark).then(
    (outcome) => (performance.now() - began > MAX_START_DELAY_MS ? "not_written" : outcome),
    () => "not_written",
  );
}

/** Notes which part was sent, so that the client does not send it again. */
function toRefusalError(refusal: PlatformError, { ids }: Progress): MessageError {
  const error = toMessageError(refusal);
  if (ids.length === 0) return error;
  const sentNote = "The media was sent, its caption was not";
  return { ...error, details: error.details === null ? sentNote : `${sentNote}: ${error.details}` };
}

interface FailedRequest {
  outcome: Exclude<SendOutcome, { outcome: "accepted" }>;
  progress: Progress;
}

async function outcomeOfFailedRequest(
  parts: SendParts,
  row: ClaimedSend,
  { outcome, progress }: FailedRequest,
): Promise<MessageOutcome> {
  switch (outcome.outcome) {
    case "retry":
      return retryLater(row, progress, outcome);
    case "unknown":
      return unknown(row, progress, outcome.reason);
    case "refused": {
      if (!outcome.tokenDead) return refused(row, progress, toRefusalError(outcome.error, progress));
      // The message waits until the channel is reconnected; when this write fails, the next send repeats it.
      const channel = { ...row, id: row.channel_id };
      await invalidateChannelToken(parts, { channel, code: outcome.error.code }).catch(() => {});
      return retryAfterReconnect(row, progress, outcome.error);
    }
  }
}

interface RequestParts {
  platforms: Platforms;
  secretBox: SecretBox;
}

/** Returns the requests that send a message, in order. Throws when it cannot be built; a retry rarely helps. */
function requestsOf({ platforms, secretBox }: RequestParts, row: ClaimedSend): PreparedSend[] {
  const { id, recipient: to, type } = row;
  const token = openChannelToken(secretBox, row.channel_id, row.token_sealed);
  const about = {
    ...{ client: row.client_id, channel: row.channel_id, message_id: id },
    ...(row.batch_id === "" ? {} : { batch_id: row.batch_id }),
  };
  const content = contentOf(row);
  if (content === null) throw new Error("the message has no content");
  const { context, messaging_type: messagingType, tag } = sendOptionsOf(row);
  if (row.platform === "chatapp") {
    const { waba_id: wabaId, phone_number_id: phoneNumberId } = row;
    if (wabaId === null || phoneNumberId === null) throw new Error("the channel has no number");
    const number = { wabaId, phoneNumberId, token, about };
    return [platforms.chat.messages.prepare(number, { id, to, type, content, context })];
  }
  const { page_id: pageId } = row;
  if (pageId === null) throw new Error("the channel has no page");
  const { messages } = PAGE_PLATFORMS[row.platform as PagePlatform](platforms);
  const bodies = toPageBodies({ to, type, content, context, messagingType, tag });
  return bodies.map((body) => messages.prepare({ pageId, token, about }, body));
}

const PAGE_PLATFORMS = {
  photoapp: ({ photo }: Platforms) => photo,
  socialapp: ({ social }: Platforms) => social,
} as const;
