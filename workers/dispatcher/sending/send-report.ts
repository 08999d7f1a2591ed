import { SECOND } from "../../../src/runtime/durations.ts";
import type { Log } from "../../../src/runtime/log.ts";
import type { Metrics } from "../../../src/runtime/metrics.ts";
import type { ClaimedSend } from "../../../src/store/sends.ts";
import type { SendEnding } from "./send-endings.ts";

/** One line for each attempt to send, and what is counted of it: nothing of what was said, or to whom. */
export function createSendReport(log: Log, metrics: Metrics) {
  return (row: ClaimedSend, { finish, error, fault }: SendEnding, ms: number): void => {
    const { outcome, attempt, delay_ms } = finish;
    if (attempt > 0) {
      metrics.sends.inc({ platform: row.platform, outcome });
      metrics.sendSeconds.observe(ms / SECOND);
    }
    log[fault ? "error" : "info"]("message.sent", {
      client: row.client_id,
      message_id: row.id,
      channel: row.channel_id,
      platform: row.platform,
      type: row.type,
      attempt: row.attempts + attempt,
      outcome,
      code: error?.code,
      retry_in: outcome === "waiting" && delay_ms !== null ? Math.round(delay_ms / SECOND) : null,
      ...(fault ? { err: fault } : {}),
      ms,
    });
  };
}
