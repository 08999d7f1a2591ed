import { StacklessError } from "../errors.ts";
import { onAbort } from "./timeouts-and-retries.ts";
import { createWatch } from "./watch.ts";

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
  /** Counts an amount that is in use already. What exceeds the key's share makes the key wait, not the others. */
  count(key: string, amount: number): Pick<Grant, "release">;
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

/** The amount that a key holds, and its waiting grants in order of arrival. */
interface ShareOwner {
  key: string;
  held: number;
  waiting: Waiter[];
}

/** The part of the shares that a grant uses. */
interface Issuer {
  extend(grant: IssuedGrant, amount: number, options: TakeOptions): void | Promise<void>;
  release(grant: IssuedGrant): void;
}

/** A class, because each statement and each body has one: closures would cost more. */
class IssuedGrant implements Grant {
  amount = 0;
  readonly issuer: Issuer;
  readonly owner: ShareOwner;

  constructor(issuer: Issuer, owner: ShareOwner) {
    this.issuer = issuer;
    this.owner = owner;
  }

  grow(amount: number): void | Promise<void> {
    return this.issuer.extend(this, amount, {});
  }

  release(): void {
    this.issuer.release(this);
  }
}

interface Waiter {
  grant: IssuedGrant;
  /** The amount that the grant lacks. */
  amount: number;
  remainingMs: number;
  settle(refusal?: ShareRefused): void;
}

/** The divided capacity, and its owners. */
interface Ledger {
  capacity: number;
  share: number;
  reserve: { amount: number; upTo: number };
  firstKey: string | undefined;
  held: number;
  owners: Map<string, ShareOwner>;
  /** Those with waiters; the key that was served last is at the end. */
  queue: Set<ShareOwner>;
  /** True while a key within its share waits for capacity: later amounts must not overtake it. */
  isBlocked: boolean;
}

const EXPIRY_INTERVAL_MS = 100;

export function createShares(options: SharesOptions): Shares {
  const { maxWaitingPerKey, maxWaitMs, makeRoom = () => false } = options;
  const ledger = openLedger(options);
  let isServing = false;

  function serveQueue(): void {
    if (isServing) return; // called again by a grant that makeRoom releases
    isServing = true;
    try {
      do {
        for (let next = findNext(ledger); next; next = findNext(ledger)) {
          change(ledger, next.grant, next.amount);
          next.settle();
        }
      } while (ledger.isBlocked && makeRoom());
    } finally {
      isServing = false;
    }
  }

  const waiters = createWatch<Waiter>({
    intervalMs: EXPIRY_INTERVAL_MS,
    isOver(waiter, ms) {
      waiter.remainingMs -= ms;
      return waiter.remainingMs <= 0;
    },
    end(waiter) {
      waiter.settle(refusalOf(ledger, waiter.grant, waiter.amount));
      serveQueue();
    },
    afterCheck: serveQueue, // there may be something to release by now
  });

  function release(grant: IssuedGrant): void {
    const { owner } = grant;
    owner.waiting.find((waiter) => waiter.grant === grant)?.settle(new ShareRefused("gone"));
    change(ledger, grant, -grant.amount);
    forgetIfIdle(ledger, owner);
    serveQueue();
  }

  /** Adds to a grant: at once, or resolves when its turn comes. */
  function extend(grant: IssuedGrant, amount: number, takeOptions: TakeOptions): void | Promise<void> {
    if (mayTakeNow(ledger, grant, amount)) return change(ledger, grant, amount);
    if (grant.owner.waiting.length < maxWaitingPerKey) return wait(grant, amount, takeOptions);
    forgetIfIdle(ledger, grant.owner);
    throw refusalOf(ledger, grant, amount);
  }

  function wait(grant: IssuedGrant, amount: number, { signal, ...own }: TakeOptions): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const settle = (refusal?: ShareRefused) => {
        stopListening?.();
        waiters.delete(waiter);
        leaveQueue(ledger, waiter);
        if (refusal) reject(refusal);
        else resolve();
      };
      const leave = () => {
        settle(new ShareRefused("gone"));
        serveQueue();
      };
      const stopListening = signal && onAbort(signal, leave);
      const waiter: Waiter = { grant, amount, remainingMs: own.maxWaitMs ?? maxWaitMs, settle };
      enterQueue(ledger, waiter);
      waiters.add(waiter);
      if (signal?.aborted) leave();
      else serveQueue();
    });
  }

  const issuer: Issuer = { extend, release };
  const openGrant = (key: string) => new IssuedGrant(issuer, ownerOf(ledger, key));

  function take(key: string, amount: number, takeOptions: TakeOptions = {}): Grant | Promise<Grant> {
    const grant = openGrant(key);
    const waiting = extend(grant, amount, takeOptions);
    return waiting ? waiting.then(() => grant) : grant;
  }

  return {
    take,
    tryTake(key, amount) {
      const grant = openGrant(key);
      const isTaken = mayTakeNow(ledger, grant, amount);
      if (isTaken) change(ledger, grant, amount);
      else forgetIfIdle(ledger, grant.owner);
      return isTaken ? grant : undefined;
    },
    count(key, amount) {
      const uncount = countInShare(ledger, ownerOf(ledger, key), amount);
      return {
        release() {
          uncount();
          serveQueue();
        },
      };
    },
    async run(key, amount, work, takeOptions) {
      const grant = await take(key, amount, takeOptions);
      try {
        return await work();
      } finally {
        grant.release();
      }
    },
  };
}

const openLedger = ({ capacity, share = capacity, reserve, firstKey }: SharesOptions): Ledger => ({
  capacity,
  share,
  reserve: reserve ?? { amount: 0, upTo: 0 },
  firstKey,
  held: 0,
  owners: new Map(),
  queue: new Set(),
  isBlocked: false,
});

function ownerOf({ owners }: Ledger, key: string): ShareOwner {
  let owner = owners.get(key);
  if (!owner) {
    owner = { key, held: 0, waiting: [] };
    owners.set(key, owner);
  }
  return owner;
}

/** Some idle keys are kept: most callers come back soon. */
const MAX_KEPT_OWNERS = 1_000;

function forgetIfIdle({ owners }: Ledger, { key, held, waiting }: ShareOwner): void {
  if (held === 0 && waiting.length === 0 && owners.size > MAX_KEPT_OWNERS) owners.delete(key);
}

function change(ledger: Ledger, grant: IssuedGrant, amount: number): void {
  grant.amount += amount;
  grant.owner.held += amount;
  ledger.held += amount;
}

function countInShare(ledger: Ledger, owner: ShareOwner, amount: number): () => void {
  const ofCapacity = Math.max(0, Math.min(amount, ledger.share - owner.held));
  owner.held += amount;
  ledger.held += ofCapacity;
  return () => {
    owner.held -= amount;
    ledger.held -= ofCapacity;
    forgetIfIdle(ledger, owner);
  };
}

const isSmall = ({ reserve }: Ledger, grant: IssuedGrant, amount: number): boolean =>
  grant.amount + amount <= reserve.upTo;

const isWithinShare = ({ share }: Ledger, { owner, amount: held }: IssuedGrant, amount: number): boolean =>
  owner.held === held || owner.held + amount <= share;

function isFree(ledger: Ledger, grant: IssuedGrant, amount: number): boolean {
  const { capacity, reserve, held } = ledger;
  const limit = isSmall(ledger, grant, amount) ? capacity : capacity - reserve.amount;
  return held + amount <= limit || held === grant.amount;
}

/** An amount that is not small does not overtake others. */
const mayTakeNow = (ledger: Ledger, grant: IssuedGrant, amount: number): boolean =>
  (isSmall(ledger, grant, amount) || (!ledger.isBlocked && grant.owner.waiting.length === 0)) &&
  isWithinShare(ledger, grant, amount) &&
  isFree(ledger, grant, amount);

const refusalOf = (ledger: Ledger, grant: IssuedGrant, amount: number): ShareRefused =>
  new ShareRefused(isWithinShare(ledger, grant, amount) ? "capacity" : "share");

function enterQueue({ queue }: Ledger, waiter: Waiter): void {
  const { owner } = waiter.grant;
  owner.waiting.push(waiter);
  queue.add(owner);
}

function leaveQueue(ledger: Ledger, waiter: Waiter): void {
  const { owner } = waiter.grant;
  owner.waiting.splice(owner.waiting.indexOf(waiter), 1);
  ledger.queue.delete(owner);
  if (owner.waiting.length > 0) ledger.queue.add(owner);
  else forgetIfIdle(ledger, owner);
}

/** The first waiter of the key that holds least. While it lacks capacity, only small amounts pass it. */
function findNext(ledger: Ledger): Waiter | undefined {
  let [next, nextSmall]: (Waiter | undefined)[] = [];
  for (const { waiting } of ledger.queue) {
    const [waiter] = waiting as [Waiter];
    const { grant, amount } = waiter;
    if (!isWithinShare(ledger, grant, amount)) continue;
    if (precedes(ledger, waiter, next)) next = waiter;
    if (isSmall(ledger, grant, amount) && precedes(ledger, waiter, nextSmall)) nextSmall = waiter;
  }
  ledger.isBlocked = next !== undefined && !isFree(ledger, next.grant, next.amount);
  if (!ledger.isBlocked) return next;
  return nextSmall && isFree(ledger, nextSmall.grant, nextSmall.amount) ? nextSmall : undefined;
}

function precedes({ firstKey }: Ledger, waiter: Waiter, other: Waiter | undefined): boolean {
  const { owner } = waiter.grant;
  if (!other || owner.key === firstKey) return true;
  const { owner: otherOwner } = other.grant;
  return otherOwner.key !== firstKey && owner.held < otherOwner.held;
}
