import { SECOND } from "../../runtime/durations.ts";
import type { Faults } from "../faults/faults.ts";

interface OrderParts<W extends object> {
  faults: Pick<Faults, "takeForWebhook">;
  /** Sends one webhook; resolves after the first attempt. */
  deliver(webhook: W): Promise<void>;
  schedule(milliseconds: number, work: () => void): void;
}

/** The longest wait of a webhook for a later one. */
const MAX_REORDER_DELAY_MS = 5 * SECOND;

/**
 * Sends webhooks in order. A `duplicate_webhook` fault sends one twice, a `reorder_webhook` fault delays one
 * until the next is sent.
 */
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
    // Sends only this webhook: the others were delayed later and have their own timers.
    schedule(MAX_REORDER_DELAY_MS, () => void sendDelayed(delayed.has(webhook) ? [webhook] : []));
  };
}
