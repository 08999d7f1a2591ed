import type { HoldWidth } from "../errors/verdicts.ts";
import type { HeldBack, Outcome, PlatformCall, Quota, Refusal } from "./call.ts";
import type { Usage } from "./usage.ts";

/** Stores until when calls are on hold, shared by all processes. A failing store never blocks a call. */
export interface HoldStore {
  /** Milliseconds until none of these keys is on hold; 0 when none is. */
  remaining(keys: readonly string[]): Promise<number>;
  hold(key: string, milliseconds: number): Promise<void>;
}

/** Only background jobs check this key: a client's call is tried even when another client has used up the app's limit. */
const APP_KEY = "app";
const assetKey = (asset: string, useCase?: string) =>
  useCase === undefined ? `asset:${asset}` : `asset:${asset}:${useCase}`;
const objectKey = (path: string) => `object:${path}`;

/**
 * Keys of the asset that can hold a call; none for a call without an asset, whose path all clients share. A hold on an
 * object blocks writes only, so reads do not check it.
 */
export function holdKeysOf({ quota, path, effect }: PlatformCall): string[] {
  if (!quota) return [];
  return [
    assetKey(quota.asset),
    ...(quota.useCase === undefined ? [] : [assetKey(quota.asset, quota.useCase)]),
    ...(effect === "read" ? [] : [objectKey(path)]),
  ];
}

/** The hold that stops a call now; undefined when there is none. */
export async function findHold(
  store: HoldStore,
  call: PlatformCall,
  isBackground: boolean,
): Promise<HeldBack | undefined> {
  const appWait = isBackground ? await store.remaining([APP_KEY]) : 0;
  if (appWait > 0) return { outcome: "held", wait: appWait, holds: "app" };
  const wait = await store.remaining(holdKeysOf(call));
  return wait > 0 ? { outcome: "held", wait } : undefined;
}

/** The key a throttle of this width holds; undefined when the call has no quota to hold. */
function holdKeyFor(width: HoldWidth, { quota, path }: PlatformCall): string | undefined {
  switch (width) {
    case "app":
      return APP_KEY;
    case "object":
      return quota && objectKey(path);
    case "asset":
      return quota && assetKey(quota.asset);
    case "use_case":
      return quota && assetKey(quota.asset, quota.useCase);
  }
}

interface Hold {
  key: string;
  wait: number;
}

/** Holds that a response causes: quotas its headers report as used up, and the throttle it was refused for. */
export function holdsAfter(call: PlatformCall, outcome: Outcome, usage: Usage): Hold[] {
  const holds = usage.quotas.flatMap(({ asset = call.quota?.asset, useCase, retryAfterMs }) =>
    retryAfterMs > 0 && asset !== undefined ? [{ key: assetKey(asset, useCase), wait: retryAfterMs }] : [],
  );
  if (outcome.outcome !== "refused" || outcome.holds === undefined) return holds;
  const key = holdKeyFor(outcome.holds, call);
  return key === undefined ? holds : [...holds, { key, wait: outcome.wait }];
}

/**
 * Applies a throttle to the call's own quota: the wait the headers report for it replaces that of the verdict table.
 * Nothing is held for a call without a quota, and for one without a use case only when a wait is reported.
 */
export function applyToQuota({ quota }: PlatformCall, outcome: Outcome, { quotas }: Usage): Outcome {
  if (outcome.outcome !== "refused" || outcome.holds === undefined) return outcome;
  const width = outcome.holds;
  if (width === "app") return outcome;
  if (!quota) return withoutHold(outcome);
  if (width === "object") return outcome;
  const wait = reportedWait(quotas, width === "asset" ? { asset: quota.asset } : quota);
  if (wait > 0) return { ...outcome, wait };
  return width === "use_case" && quota.useCase === undefined ? withoutHold(outcome) : outcome;
}

const withoutHold = ({ holds: _, ...refusal }: Refusal): Refusal => refusal;

/** The longest wait that the headers report for the quota; they may also report other quotas. */
function reportedWait(quotas: Usage["quotas"], quota: Quota): number {
  const matching = quotas.filter(
    ({ asset = quota.asset, useCase }) =>
      asset === quota.asset && (quota.useCase === undefined || useCase === quota.useCase),
  );
  return Math.max(0, ...matching.map(({ retryAfterMs }) => retryAfterMs));
}
