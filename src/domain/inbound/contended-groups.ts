import { type Batcher, createBatcher } from "../../runtime/async/batcher.ts";
import { DatabaseUnavailable, isLockTimeout } from "../../store/database/faults.ts";
import type { Updates } from "./receive.ts";
import type { ReceiveResult } from "./receive-results.ts";

interface Webhook {
  updates: Updates;
}

/** Records a group; the returned function has the result of each of its webhooks. */
type RunGroup<W> = (webhooks: readonly W[]) => Promise<(webhook: W) => ReceiveResult>;

/** The result of each webhook of a group, as soon as it is known. */
type PendingResults<W> = (webhook: W) => Promise<ReceiveResult>;

interface ContendedGroups<W> {
  /** Takes a group that waited too long for a lock. */
  receive(webhooks: readonly W[]): PendingResults<W>;
}

/** Parts of a group have connections of their own: other groups do not wait for them. */
const MAX_CONCURRENT_PARTS = 2;
/** Parts do not wait for the webhooks that are known to need a locked row. */
const MAX_CONCURRENT_RETRIES = 1;
const MAX_PARTS = 8;

interface ContendedOptions<W> {
  /** Throws an error that isLockTimeout recognises when a row stays locked. */
  run: RunGroup<W>;
  /** Milliseconds after which a webhook that needs a locked row fails: the platform repeats it. */
  timeoutMs: number;
}

/**
 * Divides a group that met a locked row until only the webhooks that need the row wait for it. A group is divided into
 * parts and these again, down to single webhooks; one that meets a locked row alone is retried until `timeoutMs`.
 */
export function createContendedGroups<W extends Webhook>({
  run,
  timeoutMs,
}: ContendedOptions<W>): ContendedGroups<W> {
  const parts = groupLane(run, MAX_CONCURRENT_PARTS);
  const retries = groupLane(run, MAX_CONCURRENT_RETRIES);

  function start(lane: typeof parts, group: readonly W[], deadline: number): PendingResults<W> {
    const results = lane.add(group).catch((error: unknown): PendingResults<W> => {
      const isContended = isLockTimeout(error);
      if (error instanceof DatabaseUnavailable || (group.length === 1 && !isContended)) throw error;
      if (isContended && Date.now() >= deadline)
        throw new DatabaseUnavailable(new Error(`a row was locked for ${timeoutMs} ms`));
      return group.length === 1 ? start(retries, group, deadline) : startParts(group, deadline);
    });
    return async (webhook) => (await results)(webhook);
  }

  function startParts(group: readonly W[], deadline: number): PendingResults<W> {
    const resultsByWebhook = new Map<W, PendingResults<W>>();
    for (const part of partsOf(group)) {
      const results = start(parts, part, deadline);
      for (const webhook of part) resultsByWebhook.set(webhook, results);
    }
    return (webhook) => (resultsByWebhook.get(webhook) as PendingResults<W>)(webhook);
  }

  return { receive: (webhooks) => startParts(webhooks, Date.now() + timeoutMs) };
}

/** Runs whole groups, the oldest first. */
const groupLane = <W>(
  run: RunGroup<W>,
  maxRunningBatches: number,
): Batcher<readonly W[], PendingResults<W>> =>
  createBatcher({
    maxItems: 1,
    maxRunningBatches,
    async run([group = []]: readonly (readonly W[])[]) {
      const resultOf = await run(group);
      return () => async (webhook: W) => resultOf(webhook);
    },
  });

const assetOf = ({ updates }: Webhook): string =>
  updates.find((reading) => reading !== undefined)?.asset.id ?? "";

const byAsset = (one: Webhook, other: Webhook): number => (assetOf(one) < assetOf(other) ? -1 : 1);

/** Webhooks about one asset stay together, because they are likely to need the same rows. */
function partsOf<W extends Webhook>(group: readonly W[]): W[][] {
  const sorted = group.toSorted(byAsset);
  const size = Math.ceil(sorted.length / MAX_PARTS);
  return Array.from({ length: Math.ceil(sorted.length / size) }, (_, index) =>
    sorted.slice(index * size, (index + 1) * size),
  );
}
