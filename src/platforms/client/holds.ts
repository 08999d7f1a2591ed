import type { HoldWidth } from "../errors/verdicts.ts";
import type { Outcome, PlatformCall } from "./call.ts";
import type { Usage } from "./usage.ts";

/** Where it is kept until when something must not be called. Shared by all processes; a failure of it never stops a call. */
export interface HoldStore {
  /** Milliseconds until the last of these keys is free again; 0 when all are. */
  remaining(keys: readonly string[]): Promise<number>;
  hold(key: string, milliseconds: number): Promise<void>;
}

const APP_KEY = "app";
const assetKey = (asset: string, useCase?: string) =>
  useCase === undefined ? `asset:${asset}` : `asset:${asset}:${useCase}`;
const objectKey = (path: string) => `object:${path}`;

/** The keys under which a call may be held. An object can be read while changes of it are held. */
export function holdKeysOf({ quota, path, effect }: PlatformCall): string[] {
  return [
    APP_KEY,
    ...(quota ? [assetKey(quota.asset), assetKey(quota.asset, quota.useCase)] : []),
    ...(effect === "read" ? [] : [objectKey(path)]),
  ];
}

/** The key that a throttle of this width holds; undefined where the call names nothing of that width. */
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

/** What must not be called for a while after this answer: what its headers report as used up, and what it was refused for. */
export function holdsAfter(call: PlatformCall, outcome: Outcome, usage: Usage): Hold[] {
  const holds = usage.quotas.flatMap(({ asset = call.quota?.asset, useCase, retryAfterMs }) =>
    retryAfterMs > 0 && asset !== undefined ? [{ key: assetKey(asset, useCase), wait: retryAfterMs }] : [],
  );
  if (outcome.outcome !== "refused" || outcome.holds === undefined) return holds;
  const key = holdKeyFor(outcome.holds, call);
  return key === undefined ? holds : [...holds, { key, wait: outcome.wait }];
}

/**
 * A throttle lasts as long as the headers say of that very quota; where they are silent, the time of the table stands in.
 * They tell of others too, whose time is not ours.
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
