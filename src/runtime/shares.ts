import { onAbort } from "./async/on-abort.ts";
import { createWatch } from "./async/watch.ts";
import { StacklessError } from "./stackless-error.ts";

/**
 * Divides something finite between callers: bytes, connections, sockets, threads. Each caller has a key. What is free goes
 * to the waiting key that holds least, so that no caller takes it from the others.
 */
export interface Shares {
  /**
   * Takes an amount: at once when it is free, otherwise in turn. Throws ShareRefused when the key has too many waiting
   * already, when the wait takes too long, or when the signal aborts.
   */
  take(key: string, amount: number, options?: TakeOptions): Grant | Promise<Grant>;
  /** Takes an amount that is free now. */
  tryTake(key: string, amount: number): Grant | undefined;
  /** Counts an amount that is in use already, even beyond the share. */
  count(key: string, amount: number): Grant;
  /** Takes an amount while the work runs. */
  run<T>(key: string, amount: number, work: () => Promise<T>, options?: TakeOptions): Promise<T>;
}

export interface TakeOptions {
  /** Aborted when the caller has gone: a waiting caller leaves the queue. */
  signal?: AbortSignal | undefined;
  maxWaitMs?: number;
}

/** An amount that a key holds. */
export interface Grant {
  /** Takes more, at once or in turn like a new amount. */
  grow(amount: number): void | Promise<void>;
  /** Gives everything back, and stops waiting for more; a second call has no effect. */
  release(): void;
}

interface SharesOptions {
  capacity: number;
  /** The most that a key holds, but one grant of any amount is always within it. Default: the capacity. */
  share?: number;
  /** This part of the capacity serves only grants of at most `upTo`, which also pass the waiting ones of their key. */
  reserve?: { amount: number; upTo: number };
  /** 0 when nothing may wait. */
  maxWaitingPerKey: number;
  maxWaitMs: number;
  /** Served before all other keys. */
  firstKey?: string;
  /**
   * Called while the capacity is used up for a key within its share: releases another grant, or returns false when there is
   * none to release.
   */
  makeRoom?(): boolean;
}

/** `share`: the key's own share was used up. `capacity`: the others use the rest. `gone`: the caller has gone. */
export type RefusalReason = "share" | "capacity" | "gone";

export class ShareRefused extends StacklessError {
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason) {
    super(`no share: ${reason}`);
    this.name = "ShareRefused";
    this.reason = reason;
  }
}

/** What a key holds and what it waits for, in order of arrival. */
interface Holder {
  key: string;
  held: number;
  waiting: Waiter[];
}

interface HeldGrant extends Grant {
  holder: Holder;
  amount: number;
}

interface Waiter {
  grant: HeldGrant;
  /** What the grant lacks. */
  amount: number;
  remainingMs: number;
  settle(refusal?: ShareRefused): void;
}

const EXPIRY_INTERVAL_MS = 100;

export function createShares({
  capacity,
  share = capacity,
  reserve = { amount: 0, upTo: 0 },
  maxWaitingPerKey,
  maxWaitMs,
  firstKey,
  makeRoom = () => false,
}: SharesOptions): Shares {
  const holders = new Map<string, Holder>();
  /** Those with waiters; the key that was served last is at the end. */
  const queue = new Set<Holder>();
  let held = 0;
  /** True while a key within its share waits for capacity: later amounts must not overtake it. */
  let isBlocked = false;
  let isServing = false;
  const waiters = createWatch<Waiter>({
    intervalMs: EXPIRY_INTERVAL_MS,
    isOver(waiter, ms) {
      waiter.remainingMs -= ms;
      return waiter.remainingMs <= 0;
    },
    end(waiter) {
      waiter.settle(refusalOf(waiter.grant, waiter.amount));
      serveQueue();
    },
    afterCheck: serveQueue, // there may be something to release by now
  });

  function holderOf(key: string): Holder {
    let holder = holders.get(key);
    if (!holder) {
      holder = { key, held: 0, waiting: [] };
      holders.set(key, holder);
    }
    return holder;
  }

  const isSmall = (grant: HeldGrant, amount: number) => grant.amount + amount <= reserve.upTo;

  const isWithinShare = (grant: HeldGrant, amount: number) =>
    grant.holder.held === grant.amount || grant.holder.held + amount <= share;

  function isFree(grant: HeldGrant, amount: number): boolean {
    const limit = isSmall(grant, amount) ? capacity : capacity - reserve.amount;
    return held + amount <= limit || held === grant.amount;
  }

  const mayTakeNow = (grant: HeldGrant, amount: number) =>
    (isSmall(grant, amount) || (!isBlocked && grant.holder.waiting.length === 0)) &&
    isWithinShare(grant, amount) &&
    isFree(grant, amount);

  function change(grant: HeldGrant, amount: number): void {
    grant.amount += amount;
    grant.holder.held += amount;
    held += amount;
  }

  function forgetIfIdle({ key, held, waiting }: Holder): void {
    if (held === 0 && waiting.length === 0) holders.delete(key);
  }

  function createGrant(holder: Holder): HeldGrant {
    const grant: HeldGrant = {
      holder,
      amount: 0,
      grow: (amount) => extend(grant, amount, {}),
      release() {
        holder.waiting.find((waiter) => waiter.grant === grant)?.settle(new ShareRefused("gone"));
        change(grant, -grant.amount);
        forgetIfIdle(holder);
        serveQueue();
      },
    };
    return grant;
  }

  /** Adds to a grant: at once, or resolves when its turn comes. */
  function extend(grant: HeldGrant, amount: number, options: TakeOptions): void | Promise<void> {
    return mayTakeNow(grant, amount) ? change(grant, amount) : wait(grant, amount, options);
  }

  function wait(grant: HeldGrant, amount: number, { signal, maxWaitMs: waitMs }: TakeOptions): Promise<void> {
    const { holder } = grant;
    if (holder.waiting.length >= maxWaitingPerKey) {
      const refusal = refusalOf(grant, amount);
      forgetIfIdle(holder);
      throw refusal;
    }
    return new Promise<void>((resolve, reject) => {
      const waiter: Waiter = {
        grant,
        amount,
        remainingMs: waitMs ?? maxWaitMs,
        settle(refusal) {
          stopListening?.();
          waiters.delete(waiter);
          holder.waiting.splice(holder.waiting.indexOf(waiter), 1);
          queue.delete(holder);
          if (holder.waiting.length > 0) queue.add(holder);
          if (!refusal) return resolve();
          forgetIfIdle(holder);
          reject(refusal);
        },
      };
      const leave = () => {
        waiter.settle(new ShareRefused("gone"));
        serveQueue();
      };
      const stopListening = signal && onAbort(signal, leave);
      holder.waiting.push(waiter);
      queue.add(holder);
      waiters.add(waiter);
      if (signal?.aborted) leave();
      else serveQueue();
    });
  }

  const refusalOf = (grant: HeldGrant, amount: number) =>
    new ShareRefused(isWithinShare(grant, amount) ? "capacity" : "share");

  function serveQueue(): void {
    if (isServing) return; // called again by a grant that makeRoom releases
    isServing = true;
    try {
      do {
        for (let next = findNext(); next; next = findNext()) {
          change(next.grant, next.amount);
          next.settle();
        }
      } while (isBlocked && makeRoom());
    } finally {
      isServing = false;
    }
  }

  /** The first waiter of the key that holds least. While it lacks capacity, only small amounts pass it. */
  function findNext(): Waiter | undefined {
    let [next, nextSmall]: (Waiter | undefined)[] = [];
    for (const { waiting } of queue) {
      const [waiter] = waiting as [Waiter];
      const { grant, amount } = waiter;
      if (!isWithinShare(grant, amount)) continue;
      if (precedes(waiter, next)) next = waiter;
      if (isSmall(grant, amount) && precedes(waiter, nextSmall)) nextSmall = waiter;
    }
    isBlocked = next !== undefined && !isFree(next.grant, next.amount);
    if (!isBlocked) return next;
    return nextSmall && isFree(nextSmall.grant, nextSmall.amount) ? nextSmall : undefined;
  }

  function precedes({ grant: { holder } }: Waiter, other: Waiter | undefined): boolean {
    if (!other || holder.key === firstKey) return true;
    return other.grant.holder.key !== firstKey && holder.held < other.grant.holder.held;
  }

  function take(key: string, amount: number, options: TakeOptions = {}): Grant | Promise<Grant> {
    const grant = createGrant(holderOf(key));
    const waiting = extend(grant, amount, options);
    return waiting ? waiting.then(() => grant) : grant;
  }

  return {
    take,
    tryTake(key, amount) {
      const grant = createGrant(holderOf(key));
      if (mayTakeNow(grant, amount)) {
        change(grant, amount);
        return grant;
      }
      forgetIfIdle(grant.holder);
      return undefined;
    },
    count(key, amount) {
      const grant = createGrant(holderOf(key));
      change(grant, amount);
      return grant;
    },
    async run(key, amount, work, options) {
      const grant = await take(key, amount, options);
      try {
        return await work();
      } finally {
        grant.release();
      }
    },
  };
}
