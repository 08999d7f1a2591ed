import { MAX_SLOT_WAIT_MS, type SendRateLimiter } from "../../../src/queue/send-rate.ts";
import type { SendRef } from "../../../src/store/messages/claim-sends.ts";

/** A send and the milliseconds until its rate slot. */
export interface PlannedSend extends SendRef {
  slotAt: number;
  wait: number;
}

/** The wait of a send without a slot, and of all sends while Redis is unavailable. */
const RETRY_SLOT_DELAY_MS = MAX_SLOT_WAIT_MS + 100;

/** Reserves a slot of each channel's rate for each of its sends. */
export async function planSends(
  rateLimiter: SendRateLimiter,
  refs: readonly SendRef[],
): Promise<PlannedSend[]> {
  const channels = [...groupByChannel(refs).values()];
  return (await Promise.all(channels.map((sends) => planChannel(rateLimiter, sends)))).flat();
}

/** Sends whose reserved slot has come get slots before those that had none yet. */
async function planChannel(rateLimiter: SendRateLimiter, refs: readonly SendRef[]): Promise<PlannedSend[]> {
  const [channel] = refs as [SendRef, ...SendRef[]];
  const due = refs.filter(({ slotAt }) => slotAt !== undefined);
  const fresh = refs.filter(({ slotAt }) => slotAt === undefined);
  const slots = await rateLimiter
    .reserve(channel, { due: due.length, fresh: fresh.length })
    .catch(() => undefined);
  const { now: soon = [], later = [] } = slots?.fresh ?? {};
  const now = Date.now();
  const plan = (ref: SendRef, wait = RETRY_SLOT_DELAY_MS) => ({
    ...ref,
    wait,
    slotAt: Math.round(now + wait),
  });
  return [
    ...due.map((ref, index) => plan(ref, slots?.due.now[index])),
    ...fresh.map((ref, index) => plan(ref, soon[index] ?? later[index - soon.length])),
  ];
}

/** Drops duplicates, because a stream may name a send twice. */
function groupByChannel(refs: readonly SendRef[]): Map<string, SendRef[]> {
  const channels = new Map<string, SendRef[]>();
  for (const ref of new Map(refs.map((one) => [one.id, one])).values())
    channels.set(ref.channelId, [...(channels.get(ref.channelId) ?? []), ref]);
  return channels;
}
