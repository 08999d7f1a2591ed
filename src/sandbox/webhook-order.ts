import { SECOND } from "../runtime/durations.ts";
import type { Faults } from "./faults/faults.ts";

interface OrderParts {
  faults: Pick<Faults, "takeForWebhook">;
  /** Sends one webhook; resolves when it was taken or refused for the first time. */
  deliver(body: string): Promise<void>;
  later(milliseconds: number, work: () => void): void;
}

/** As long as a webhook waits for one that overtakes it. */
const LONGEST_WAIT = 5 * SECOND;

/** Sends webhooks as they come, but twice or after the next one where that was asked for. */
export function createWebhookOrder({ faults, deliver, later }: OrderParts): (body: string) => void {
  let held: string[] = [];
  const sendHeld = async () => {
    const waiting = held.reverse();
    held = [];
    for (const body of waiting) await deliver(body);
  };
  const sendNow = async (body: string) => {
    const again = faults.takeForWebhook("duplicate_webhook");
    await deliver(body);
    if (again) await deliver(body);
    await sendHeld();
  };
  return (body) => {
    if (!faults.takeForWebhook("reorder_webhook")) return void sendNow(body);
    held.push(body);
    later(LONGEST_WAIT, () => void sendHeld());
  };
}
