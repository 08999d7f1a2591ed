import { SECOND } from "../../runtime/durations.ts";
import type { Faults } from "../faults/faults.ts";

interface OrderParts<W extends object> {
  faults: Pick<Faults, "takeForWebhook">;
  /** Sends one webhook; resolves when it was taken or refused for the first time. */
  deliver(webhook: W): Promise<void>;
  later(milliseconds: number, work: () => void): void;
}

/** As long as a webhook waits for one that overtakes it. */
const LONGEST_WAIT = 5 * SECOND;

/** Sends webhooks as they come, but twice or after the next one where that was asked for. */
export function createWebhookOrder<W extends object>(parts: OrderParts<W>): (webhook: W) => void {
  const { faults, deliver, later } = parts;
  const held = new Set<W>();
  const release = async (waiting: readonly W[]) => {
    for (const webhook of waiting) held.delete(webhook);
    for (const webhook of waiting) await deliver(webhook);
  };
  const sendNow = async (webhook: W) => {
    const again = faults.takeForWebhook("duplicate_webhook");
    await deliver(webhook);
    if (again) await deliver(webhook);
    await release([...held].reverse());
  };
  return (webhook) => {
    if (!faults.takeForWebhook("reorder_webhook")) return void sendNow(webhook);
    held.add(webhook);
    // Only this one: others that wait by then came later and have their own time.
    later(LONGEST_WAIT, () => void release(held.has(webhook) ? [webhook] : []));
  };
}
