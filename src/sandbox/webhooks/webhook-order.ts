import { SECOND } from "../../runtime/durations.ts";
import type { Faults } from "../faults/faults.ts";

interface OrderParts<W extends object> {
  faults: Pick<Faults, "takeForWebhook">;
  /** Sends one webhook; resolves when it was taken or refused for the first time. */
  deliver(webhook: W): Promise<void>;
  schedule(milliseconds: number, work: () => void): void;
}

/** As long as a webhook waits for one that overtakes it. */
const MAX_REORDER_DELAY_MS = 5 * SECOND;

/** Sends webhooks as they come, but twice or after the next one where that was asked for. */
export function createWebhookOrder<W extends object>(parts: OrderParts<W>): (webhook: W) => void {
  const { faults, deliver, schedule } = parts;
  const delayed = new Set<W>();
  const sendDelayed = async (webhooks: readonly W[]) => {
    for (const webhook of webhooks) delayed.delete(webhook);
    for (const webhook of webhooks) await deliver(webhook);
  };
  const sendNow = async (webhook: W) => {
    const isDuplicated = faults.takeForWebhook("duplicate_webhook");
    await deliver(webhook);
    if (isDuplicated) await deliver(webhook);
    await sendDelayed([...delayed].reverse());
  };
  return (webhook) => {
    if (!faults.takeForWebhook("reorder_webhook")) return void sendNow(webhook);
    delayed.add(webhook);
    // Only this one: others that wait by then came later and have their own time.
    schedule(MAX_REORDER_DELAY_MS, () => void sendDelayed(delayed.has(webhook) ? [webhook] : []));
  };
}
