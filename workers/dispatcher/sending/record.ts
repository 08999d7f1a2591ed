import type { MessageError } from "../../../src/domain/messages/message-errors.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import type { Log } from "../../../src/runtime/logging/log.ts";
import type { Metrics } from "../../../src/runtime/metrics/metrics.ts";
import type { ClaimedSend } from "../../../src/store/messages/claim-sends.ts";
import type { SettledSend } from "../../../src/store/messages/settled-sends.ts";
import type { MessageOutcome } from "./outcomes.ts";

/** Logs and counts each message that failed because it waited too long. */
export const createAbandonedSendRecorder =
  (log: Log, metrics: Metrics) =>
  ({ client_id: client, id, channel_id: channel, platform }: SettledSend, { code }: MessageError): void => {
    metrics.sends.inc({ platform, outcome: "given_up" });
    log.warn("message.abandoned", { client, message_id: id, channel, platform, code });
  };

/** Logs and counts each attempt to send, without content and recipient. */
export function createSendRecorder(log: Log, metrics: Metrics) {
  return (row: ClaimedSend, sent: MessageOutcome, ms: number): void => {
    const { finish, error, fault } = sent;
    const { outcome, attempt } = finish;
    if (!attempt) return; // not counted as an attempt
    metrics.sends.inc({ platform: row.platform, outcome });
    metrics.sendSeconds.observe(ms / SECOND);
    log[fault ? "error" : "info"]("message.sent", {
      client: row.client_id,
      message_id: row.id,
      channel: row.channel_id,
      platform: row.platform,
      type: row.type,
      attempt: row.attempts + 1,
      outcome,
      code: error?.code,
      retry_in: retryInSeconds(sent),
      ...(fault ? { err: fault } : {}),
      ms,
    });
  };
}

const retryInSeconds = ({ finish, waitsForReconnect }: MessageOutcome): number | null =>
  finish.outcome === "waiting" && finish.delay_ms !== null && !waitsForReconnect
    ? Math.round(finish.delay_ms / SECOND)
    : null;
