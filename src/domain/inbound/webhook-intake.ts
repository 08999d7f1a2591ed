import { createBatcher } from "../../runtime/async/batcher.ts";
import { withTimeout } from "../../runtime/async/with-timeout.ts";
import { REQUEST_DATABASE_TIMEOUT_MS } from "../../runtime/deadlines.ts";
import { DatabaseUnavailable } from "../../store/database/faults.ts";
import { type ReceiveParts, receiveWebhooks, type Updates } from "./receive.ts";
import type { ReceiveResult } from "./receive-results.ts";

/** A webhook whose signature is valid. */
export interface IncomingWebhook {
  updates: Updates;
  /** Size of the body. */
  bytes: number;
}

export interface WebhookIntake {
  /** Resolves once every update is committed. Throws DatabaseUnavailable after the timeout: the platform repeats it. */
  receive(webhook: IncomingWebhook): Promise<ReceiveResult>;
}

/** While this many groups wait for the disk, further webhooks share the next group. */
const MAX_CONCURRENT_GROUPS = 2;
/** Heavy webhooks have as many connections of their own, so that the others never wait for them. */
const MAX_CONCURRENT_HEAVY = 2;
const MAX_GROUP_WEBHOOKS = 400;
/** About 400 updates of common size: Postgres writes them in some 20 ms, which later webhooks wait. */
const MAX_GROUP_WEIGHT = 300_000;
/** An update costs as much as this many bytes of its body, besides its own bytes. */
const UPDATE_WEIGHT = 400;

const weightOf = ({ updates, bytes }: IncomingWebhook): number => updates.length * UPDATE_WEIGHT + bytes;

const isHeavy = (webhook: IncomingWebhook): boolean => weightOf(webhook) > MAX_GROUP_WEIGHT;

/**
 * Records concurrent webhooks with shared statements: the commits of the database are the bottleneck. A webhook is
 * pending until its group starts, running until the group's last statement ends, then recorded or failed; the batcher
 * moves it. A failed group is repeated in parts, so that one webhook cannot fail the others.
 */
export function createWebhookIntake(
  parts: ReceiveParts,
  timeoutMs: number = REQUEST_DATABASE_TIMEOUT_MS,
): WebhookIntake {
  const shared = createBatcher<IncomingWebhook, ReceiveResult>({
    maxItems: MAX_GROUP_WEBHOOKS,
    maxWeight: MAX_GROUP_WEIGHT,
    weightOf,
    maxRunningBatches: MAX_CONCURRENT_GROUPS,
    // After a lost connection every part would wait for the database again.
    shouldIsolate: (error) => !(error instanceof DatabaseUnavailable),
    run: (webhooks) => receiveGroup(parts, webhooks),
  });
  const heavy = createBatcher<IncomingWebhook, ReceiveResult>({
    maxItems: 1,
    maxRunningBatches: MAX_CONCURRENT_HEAVY,
    run: (webhooks) => receiveGroup(parts, webhooks),
  });

  async function record(webhook: IncomingWebhook): Promise<ReceiveResult> {
    if (hasOwnTransaction(webhook)) return (await receiveGroup(parts, [webhook]))(webhook);
    return (isHeavy(webhook) ? heavy : shared).add(webhook);
  }

  return {
    receive: (webhook) =>
      withTimeout(timeoutMs, record(webhook), () => {
        // Updates of a running group may still be recorded; the platform's repetition then finds duplicates.
        (isHeavy(webhook) ? heavy : shared).cancel(webhook);
        throw new DatabaseUnavailable(new Error(`the webhook was not recorded within ${timeoutMs} ms`));
      }),
  };
}

/**
 * True for updates whose events are recorded in a transaction with further rows. They are not grouped: a group that fails
 * after the commit of a part would count the events of that part as duplicates.
 */
const hasOwnTransaction = ({ updates }: IncomingWebhook): boolean =>
  updates.some((reading) => reading !== undefined && (reading.endsConnection || reading.watermark));

async function receiveGroup(parts: ReceiveParts, webhooks: readonly IncomingWebhook[]) {
  const results = await receiveWebhooks(
    parts,
    webhooks.map(({ updates }) => updates),
  );
  const resultByWebhook = new Map(webhooks.map((webhook, place) => [webhook, results[place]]));
  return (webhook: IncomingWebhook) => resultByWebhook.get(webhook) as ReceiveResult;
}
