import type { MessageError } from "../../../src/domain/messages/message-errors.ts";
import type { PlatformError } from "../../../src/platforms/errors/platform-error.ts";
import type { SendOutcome } from "../../../src/platforms/sends.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import type { ClaimedSend, SendMark } from "../../../src/store/messages/claim-sends.ts";
import {
  accepted,
  again,
  type Progress,
  refused,
  type SendEnding,
  spoiled,
  toMessageError,
  unknown,
  untried,
} from "./outcomes.ts";
import { type RequestParts, requestsOf } from "./platform-requests.ts";

export interface SendParts extends RequestParts {
  /** Writes down that a request is about to go out; false where it is not ours to send any more. */
  mark(mark: Omit<SendMark, "lease">): Promise<boolean>;
  /** The platform calls the channel's token dead. */
  onDeadToken(row: ClaimedSend): Promise<void>;
  /** Milliseconds that word of an unknown outcome is waited for. */
  unknownFor: number;
}

/** One message in hand, to how it goes on with it; undefined where somebody else decides that by now. */
export async function sendMessage(parts: SendParts, row: ClaimedSend): Promise<SendEnding | undefined> {
  const ids = row.parts_sent > 0 ? [row.platform_message_id] : [];
  const progress = (): Progress => ({ ids, at: new Date(), unknownFor: parts.unknownFor });
  try {
    for (const request of requestsOf(parts, row).slice(ids.length)) {
      const marked = await markOf(parts, row, ids);
      if (marked !== "marked") return marked === "lost" ? undefined : untried(row, progress());
      // Whatever is thrown here, the request may have left.
      const outcome = await request().catch((): SendOutcome => ({ outcome: "unknown" }));
      if (outcome.outcome !== "accepted") return await ended(parts, row, { outcome, progress: progress() });
      ids.push(storable(outcome.platformMessageId));
    }
    return accepted(row, progress());
  } catch (error) {
    return spoiled(
      row,
      progress(),
      error instanceof Error ? error : new Error("not built", { cause: error }),
    );
  }
}

/** What no index could take is not kept: nothing the platform says later is matched by it. */
const storable = (id: string | undefined): string | null =>
  id !== undefined && /^[\x21-\x7e]{1,512}$/.test(id) ? id : null;

type Marked = "marked" | "lost" | "not written";

/** Without it nothing is sent: after a crash nobody could tell. */
async function markOf(
  { mark }: SendParts,
  row: ClaimedSend,
  ids: readonly (string | null)[],
): Promise<Marked> {
  const { client_id, id } = row;
  const about = { client_id, id, parts_sent: ids.length, platform_message_id: ids[0] ?? null };
  const began = performance.now();
  return mark(about).then(
    (isOurs) => (performance.now() - began > LATEST ? "not written" : isOurs ? "marked" : "lost"),
    () => "not written",
  );
}

/** Who stood still for longer may have been given up for dead, and what they were to send may have failed. */
const LATEST = 5 * SECOND;

/** Whoever sends it again must know what has arrived. */
function reasonOf(refusal: PlatformError, { ids }: Progress): MessageError {
  const error = toMessageError(refusal);
  if (ids.length === 0) return error;
  const sent = "The media was sent, its caption was not";
  return { ...error, details: error.details === null ? sent : `${sent}: ${error.details}` };
}

interface Stopped {
  outcome: Exclude<SendOutcome, { outcome: "accepted" }>;
  progress: Progress;
}

async function ended(
  parts: SendParts,
  row: ClaimedSend,
  { outcome, progress }: Stopped,
): Promise<SendEnding> {
  switch (outcome.outcome) {
    case "retry":
      return again(row, progress, outcome);
    case "unknown":
      return unknown(row, progress);
    case "refused": {
      if (!outcome.tokenDead) return refused(row, progress, reasonOf(outcome.error, progress));
      // The message waits for the channel to be connected again; what cannot be written is noticed by the next one.
      await parts.onDeadToken(row).catch(() => {});
      return again(row, progress, { outcome: "retry", error: outcome.error, pair: false });
    }
  }
}
