import type { ChannelQueues, ChannelRef, TakenSends } from "../../../src/queue/channel-queues.ts";
import { endOfTurn } from "../../../src/runtime/async/end-of-turn.ts";
import { SECOND } from "../../../src/runtime/durations.ts";

/**
 * Takes sends out of the channels' queues as soon as slots and the channels' rates allow it. A channel is waiting from
 * `watch` until its queue is empty. `wake` begins a round, unless one runs, which then is repeated: it acquires slots for
 * the waiting channels in turn, takes as many sends, starts them and releases the other slots. A timer begins the next
 * round when a channel's rate allows more; a call that ends begins one too.
 */

interface PacerParts {
  queues: Pick<ChannelQueues, "take">;
  /** Acquires a slot for one send; false when the channel has used its share or no send of it may start now. */
  acquire(channelId: string): boolean;
  release(channelId: string): void;
  freeSlots(): number;
  /** Starts a send, which has a slot. */
  start(send: PacedSend): void;
}

/** A send with a concurrency slot and the milliseconds until its rate slot. */
export interface PacedSend extends ChannelRef {
  id: string;
  wait: number;
}

interface WaitingChannel extends ChannelRef {
  /** When its rate allows more, in milliseconds of the process. */
  takeAt: number;
  /** Changes when sends are added: a round must not forget a channel because of an earlier answer. */
  version: number;
}

type Wanted = WaitingChannel & { count: number };

/** Rounds that only the rate begins are at least this far apart; slots are taken further ahead than this. */
const MIN_TIMER_MS = 20;
const REDIS_RETRY_MS = 1 * SECOND;

export type ChannelPacer = ReturnType<typeof createChannelPacer>;

export function createChannelPacer(parts: PacerParts) {
  const waiting = new Map<string, WaitingChannel>();
  let round: Promise<void> | undefined;
  let isWoken = false;
  /** When the last round acquired slots. */
  let roundAt = 0;
  let timer: NodeJS.Timeout | undefined;

  function wake(): void {
    isWoken = true;
    round ??= runRounds();
  }

  async function runRounds(): Promise<void> {
    clearTimeout(timer);
    while (isWoken) {
      await endOfTurn(); // calls that end in the same turn share a round
      isWoken = false;
      const wanted = acquireSlots();
      if (wanted.length > 0) await takeSends(wanted);
    }
    round = undefined; // in the same turn as the last check: a wake in between would be missed
    scheduleNext();
  }

  /** Divides the free slots among the channels whose rate allows a send. */
  function acquireSlots(): Wanted[] {
    roundAt = performance.now();
    if (parts.freeSlots() === 0) return [];
    const ready = [...waiting.values()].filter(({ takeAt }) => takeAt <= roundAt);
    const share = Math.ceil(parts.freeSlots() / Math.max(1, ready.length));
    const wanted: Wanted[] = [];
    for (const channel of ready) {
      let count = 0;
      while (count < share && parts.acquire(channel.channelId)) count += 1;
      if (count > 0) wanted.push({ ...channel, count });
      if (parts.freeSlots() === 0) break;
    }
    return wanted;
  }

  async function takeSends(wanted: readonly Wanted[]): Promise<void> {
    const taken = await parts.queues.take(wanted).catch(() => undefined);
    const byChannel = new Map(taken?.map((answer) => [answer.channel.channelId, answer]));
    for (const channel of wanted) {
      const answer = byChannel.get(channel.channelId);
      for (let unused = channel.count - (answer?.sends.length ?? 0); unused > 0; unused -= 1)
        parts.release(channel.channelId);
      if (answer) applyAnswer(channel, answer);
      else update(channel, performance.now() + REDIS_RETRY_MS);
    }
  }

  function applyAnswer(channel: Wanted, { sends, left, nextIn }: TakenSends): void {
    const { clientId, channelId, version } = channel;
    for (const { id, wait } of sends) parts.start({ clientId, channelId, id, wait });
    const isEmpty = left === 0 && waiting.get(channelId)?.version === version;
    if (isEmpty) waiting.delete(channelId);
    else update(channel, performance.now() + nextIn);
    if (!isEmpty && nextIn === 0) isWoken = true;
  }

  /** Moves the channel behind the others, which go first in the next round. */
  function update({ channelId }: Wanted, takeAt: number): void {
    const channel = waiting.get(channelId);
    if (!channel) return;
    waiting.delete(channelId);
    waiting.set(channelId, { ...channel, takeAt });
  }

  /** Channels that the last round has passed over wait for a slot or their platform: another `wake` follows. */
  function scheduleNext(): void {
    let next = Number.POSITIVE_INFINITY;
    for (const { takeAt } of waiting.values()) if (takeAt > roundAt) next = Math.min(next, takeAt);
    if (next === Number.POSITIVE_INFINITY) return;
    timer = setTimeout(wake, Math.max(MIN_TIMER_MS, next - performance.now()));
  }

  return {
    /** Takes sends of these channels from now on. */
    watch(channels: readonly ChannelRef[]): void {
      for (const { clientId, channelId } of channels) {
        const { takeAt = 0, version = 0 } = waiting.get(channelId) ?? {};
        waiting.set(channelId, { clientId, channelId, takeAt, version: version + 1 });
      }
      wake();
    },
    wake,
    /** True when sends of the channel wait for a slot. */
    isWaiting: (channelId: string): boolean => waiting.has(channelId),
    /** Takes no sends from now on; resolves when the last round has ended. */
    async close(): Promise<void> {
      waiting.clear();
      await round;
      clearTimeout(timer);
    },
  };
}
