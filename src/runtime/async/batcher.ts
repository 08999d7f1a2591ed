/**
 * Collects single items and runs them in batches. An item is pending until its batch starts, and running until the
 * batch settles; `size` counts both. While `maxRunningBatches` run, further items stay pending and share the next batch.
 */
export interface Batcher<I, O> {
  add(item: I): Promise<O>;
  /** Removes an item that is still pending, whose promise then never settles; false when it runs or has run. */
  cancel(item: I): boolean;
  /** Items that are pending or running. */
  size(): number;
  /** Total weight of the pending items. */
  pendingWeight(): number;
  /** Resolves once fewer than `count` items are pending or running. */
  waitUntilBelow(count: number): Promise<void>;
}

export interface BatcherOptions<I, O> {
  /** Runs one batch and returns a function from item to result; an error thrown by it rejects only that item. */
  run(items: readonly I[]): Promise<(item: I) => O | Promise<O>>;
  maxItems: number;
  /** Maximum total weight of a batch; a single heavier item still forms its own batch. */
  maxWeight?: number;
  weightOf?(item: I): number;
  maxRunningBatches?: number;
  /** Milliseconds to wait for further items; by default, the rest of this event loop turn. */
  windowMs?: number;
  /** True when a failed batch is retried in halves, so that one bad item does not fail the others. */
  shouldIsolate?(error: unknown): boolean;
}

interface PendingItem<I, O> {
  item: I;
  resolve(result: O | Promise<O>): void;
  reject(error: unknown): void;
}

export function createBatcher<I, O>(options: BatcherOptions<I, O>): Batcher<I, O> {
  const { maxRunningBatches = 1, windowMs, weightOf = () => 0 } = options;
  const pending: PendingItem<I, O>[] = [];
  let pendingWeight = 0;
  let runningBatches = 0;
  let runningItems = 0;
  let isScheduled = false;
  let waiters: { count: number; resolve(): void }[] = [];
  const size = () => pending.length + runningItems;

  function schedule(delayMs: number | undefined): void {
    if (isScheduled || runningBatches >= maxRunningBatches || pending.length === 0) return;
    isScheduled = true;
    if (delayMs === undefined) setImmediate(startBatches);
    else setTimeout(startBatches, delayMs);
  }

  function startBatches(): void {
    isScheduled = false;
    while (pending.length > 0 && runningBatches < maxRunningBatches) {
      const batch = pending.splice(0, batchSize(pending, options));
      for (const { item } of batch) pendingWeight -= weightOf(item);
      runningBatches += 1;
      runningItems += batch.length;
      void runBatch(batch, options).finally(() => {
        runningBatches -= 1;
        runningItems -= batch.length;
        wakeWaiters();
        // Items added while the batch ran do not wait for another window.
        if (windowMs !== undefined && !isScheduled) startBatches();
        else schedule(undefined);
      });
    }
  }

  function wakeWaiters(): void {
    const ready = waiters.filter(({ count }) => size() < count);
    if (ready.length === 0) return;
    waiters = waiters.filter(({ count }) => size() >= count);
    for (const { resolve } of ready) resolve();
  }

  return {
    size,
    pendingWeight: () => pendingWeight,
    add: (item) =>
      new Promise<O>((resolve, reject) => {
        pending.push({ item, resolve, reject });
        pendingWeight += weightOf(item);
        schedule(windowMs);
      }),
    cancel(item) {
      const index = pending.findIndex((entry) => entry.item === item);
      if (index === -1) return false;
      pending.splice(index, 1);
      pendingWeight -= weightOf(item);
      wakeWaiters();
      return true;
    },
    async waitUntilBelow(count) {
      while (size() >= count) await new Promise<void>((resolve) => waiters.push({ count, resolve }));
    },
  };
}

/** Never rejects: each item is settled with its own result or error. */
async function runBatch<I, O>(
  batch: readonly PendingItem<I, O>[],
  options: BatcherOptions<I, O>,
): Promise<void> {
  try {
    const resultOf = await options.run(batch.map(({ item }) => item));
    for (const entry of batch) settle(entry, resultOf);
  } catch (error) {
    if (batch.length > 1 && options.shouldIsolate?.(error))
      for (const half of halvesOf(batch)) await runBatch(half, options);
    else for (const { reject } of batch) reject(error);
  }
}

/** Halves find one bad item among hundreds in a few batches; single items would delay the last ones by hundreds. */
export function halvesOf<T>(items: readonly T[]): [T[], T[]] {
  const middle = Math.ceil(items.length / 2);
  return [items.slice(0, middle), items.slice(middle)];
}

function settle<I, O>(
  { item, resolve, reject }: PendingItem<I, O>,
  resultOf: (item: I) => O | Promise<O>,
): void {
  try {
    resolve(resultOf(item));
  } catch (error) {
    reject(error);
  }
}

function batchSize<I, O>(
  pending: readonly PendingItem<I, O>[],
  { maxItems, maxWeight = Number.POSITIVE_INFINITY, weightOf }: BatcherOptions<I, O>,
): number {
  if (!weightOf) return Math.min(maxItems, pending.length);
  let [size, weight] = [0, 0];
  for (const { item } of pending) {
    weight += weightOf(item);
    if (size === maxItems || (size > 0 && weight > maxWeight)) break;
    size += 1;
  }
  return size;
}
