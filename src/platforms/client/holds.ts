import type { HoldWidth } from "../errors/verdicts.ts";
import type { Outcome, PlatformCall } from "./call.ts";
import type { Usage } from "./usage.ts";

/** Stores until when calls are on hold, shared by all processes. A failing store never blocks a call. */
export interface HoldStore {
  /** Milliseconds until none of these keys is on hold; 0 when none is. */
  remaining(keys: readonly string[]): Promise<number>;
  hold(key: string, milliseconds: number): Promise<void>;
}

const APP_KEY = "app";
const assetKey = (asset: string, useCase?: string) =>
  useCase === undefined ? `asset:${asset}` : `asset:${asset}:${useCase}`;
const objectKey = (path: string) => `object:${path}`;

/** Keys that can hold a call. A hold on an object blocks writes only, so reads do not check it. */
export function holdKeysOf({ quota, path, effect }: PlatformCall): string[] {
  return [
    APP_KEY,
    ...(quota ? [assetKey(quota.asset), assetKey(quota.asset, quota.useCase)] : []),
    ...(effect === "read" ? [] : [objectKey(path)]),
  ];
}

/** The key a throttle of this width holds; undefined when the call has no quota to hold. */
function holdKeyFor(width: HoldWidth, { quota, path }: PlatformCall): string | undefined {
  switch (width) {
    case "app":
      return APP_KEY;
    case "object":
      return objectKey(path);
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
 * Replaces the wait from the verdict table with the wait the headers report for the call's own quota. Headers
 * may also report other quotas, whose waits do not apply.
 */
export function withReportedWait({ quota }: PlatformCall, outcome: Outcome, { quotas }: Usage): Outcome {
  if (outcome.outcome !== "refused" || outcome.verdict !== "throttled" || !quota) return outcome;
  const width = outcome.holds;
  if (width !== "asset" && width !== "use_case") return outcome;
  const matching = quotas.filter(
    ({ asset = quota.asset, useCase }) =>
      asset === quota.asset && (width === "asset" || useCase === quota.useCase),
  );
  const regain = Math.max(0, ...matching.map((one) => one.retryAfterMs));
  return regain > 0 ? { ...outcome, wait: regain } : outcome;
}
