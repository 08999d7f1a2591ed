import { DAY, MINUTE, SECOND } from "../../runtime/durations.ts";
import { asList, asObject, type Fields, numberOf, parseObject } from "../bodies.ts";
import type { PauseWidth } from "../errors/verdicts.ts";
import type { Outcome, PausedCall, PlatformCall, Quota, Refusal } from "./call.ts";

/** Stores until when calls are paused, shared by all processes. A failing store never blocks a call. */
export interface PauseStore {
  /** Milliseconds until none of these keys is paused; 0 when none is. */
  remaining(keys: readonly string[]): Promise<number>;
  pause(key: string, milliseconds: number): Promise<void>;
}

/** Only background jobs check this key: a client's call is tried even when another client has used up the app's limit. */
const APP_KEY = "app";
const assetKey = (asset: string, useCase?: string) =>
  useCase === undefined ? `asset:${asset}` : `asset:${asset}:${useCase}`;
const objectKey = (path: string) => `object:${path}`;

/**
 * Keys of the asset that can pause a call; none for a call without an asset, whose path all clients share. A pause on an
 * object blocks writes only, so reads do not check it.
 */
export function pauseKeysOf({ quota, path, effect }: PlatformCall): string[] {
  if (!quota) return [];
  return [
    assetKey(quota.asset),
    ...(quota.useCase === undefined ? [] : [assetKey(quota.asset, quota.useCase)]),
    ...(effect === "read" ? [] : [objectKey(path)]),
  ];
}

/** The pause that stops a call now; undefined when there is none. */
export async function findPause(
  store: PauseStore,
  call: PlatformCall,
  isBackground: boolean,
): Promise<PausedCall | undefined> {
  const appWait = isBackground ? await store.remaining([APP_KEY]) : 0;
  if (appWait > 0) return { outcome: "paused", wait: appWait, pauses: "app" };
  const wait = await store.remaining(pauseKeysOf(call));
  return wait > 0 ? { outcome: "paused", wait } : undefined;
}

/** The key a throttle of this width pauses; undefined when the call has no quota to pause. */
function pauseKeyFor(width: PauseWidth, { quota, path }: PlatformCall): string | undefined {
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

interface Pause {
  key: string;
  wait: number;
}

/** Pauses that a response causes: quotas its headers report as used up, and the throttle it was refused for. */
export function pausesAfter(call: PlatformCall, outcome: Outcome, usage: Usage): Pause[] {
  const pauses = usage.quotas.flatMap(({ asset = call.quota?.asset, useCase, retryAfterMs }) =>
    retryAfterMs > 0 && asset !== undefined ? [{ key: assetKey(asset, useCase), wait: retryAfterMs }] : [],
  );
  if (outcome.outcome !== "refused" || outcome.pauses === undefined) return pauses;
  const key = pauseKeyFor(outcome.pauses, call);
  return key === undefined ? pauses : [...pauses, { key, wait: outcome.wait }];
}

/**
 * Applies a throttle to the call's own quota: the wait the headers report for it replaces that of the verdict table.
 * Nothing is paused for a call without a quota, and for one without a use case only when a wait is reported.
 */
export function applyToQuota({ quota }: PlatformCall, outcome: Outcome, { quotas }: Usage): Outcome {
  if (outcome.outcome !== "refused" || outcome.pauses === undefined) return outcome;
  const width = outcome.pauses;
  if (width === "app") return outcome;
  if (!quota) return withoutPause(outcome);
  if (width === "object") return outcome;
  const wait = reportedWait(quotas, width === "asset" ? { asset: quota.asset } : quota);
  if (wait > 0) return { ...outcome, wait };
  return width === "use_case" && quota.useCase === undefined ? withoutPause(outcome) : outcome;
}

const withoutPause = ({ pauses: _, ...refusal }: Refusal): Refusal => refusal;

/** The longest wait that the headers report for the quota; they may also report other quotas. */
function reportedWait(quotas: Usage["quotas"], quota: Quota): number {
  const matching = quotas.filter(
    ({ asset = quota.asset, useCase }) =>
      asset === quota.asset && (quota.useCase === undefined || useCase === quota.useCase),
  );
  return Math.max(0, ...matching.map(({ retryAfterMs }) => retryAfterMs));
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Usage of a quota, as reported in the response headers. */
interface QuotaUsage {
  /** The account or business, without `act_`; the call's own asset when undefined. */
  asset?: string;
  useCase: string;
  percent: number;
  /** Milliseconds until the platform accepts calls again; 0 while it does. */
  retryAfterMs: number;
}

export interface Usage {
  /** Use of the app's quota, in percent. */
  app?: number;
  /** Use of the account's quota, in percent. */
  account?: number;
  /** Use of the most used business use case, in percent. */
  business?: number;
  quotas: QuotaUsage[];
}

/** Reads the usage headers and skips missing or malformed values: the headers are advisory. */
export function readUsage(headers: Headers): Usage {
  const app = highestOf(jsonHeader(headers, "x-app-usage"), ["call_count", "total_time", "total_cputime"]);
  const account = jsonHeader(headers, "x-ad-account-usage");
  const insights = jsonHeader(headers, "x-fb-ads-insights-throttle");
  const business = businessQuotas(jsonHeader(headers, "x-business-use-case-usage"));
  const accountPercent = numberOf(account.acc_id_util_pct) ?? numberOf(insights.acc_id_util_pct);
  return {
    ...(app === undefined ? {} : { app }),
    ...(accountPercent === undefined ? {} : { account: accountPercent }),
    ...(business.length === 0 ? {} : { business: Math.max(...business.map(({ percent }) => percent)) }),
    quotas: [...accountQuota(account), ...business],
  };
}

/**
 * Quota for managing the account; insights have a separate one. This header uses seconds, the business header
 * minutes.
 */
function accountQuota(account: Fields): QuotaUsage[] {
  const percent = numberOf(account.acc_id_util_pct);
  if (percent === undefined) return [];
  const reset = toWaitMs(account.reset_time_duration, SECOND);
  return [{ useCase: "ads_management", percent, retryAfterMs: percent >= 100 ? reset : 0 }];
}

function businessQuotas(header: Fields): QuotaUsage[] {
  return Object.entries(header).flatMap(([asset, entries]) =>
    asList(entries).flatMap((entry) => {
      const fields = asObject(entry);
      const percent = highestOf(fields, ["call_count", "total_cputime", "total_time"]);
      if (percent === undefined || typeof fields.type !== "string") return [];
      const retryAfterMs = toWaitMs(fields.estimated_time_to_regain_access, MINUTE);
      return [{ asset, useCase: fields.type, percent, retryAfterMs }];
    }),
  );
}

function jsonHeader(headers: Headers, name: string): Fields {
  const value = headers[name];
  return typeof value === "string" ? parseObject(value) : {};
}

/** Capped at a day so that a wrong value from the platform cannot block calls for longer. */
const toWaitMs = (value: unknown, msPerStep: number): number =>
  Math.min((numberOf(value) ?? 0) * msPerStep, DAY);

function highestOf(fields: Fields, names: readonly string[]): number | undefined {
  const found = names.map((name) => numberOf(fields[name])).filter((value) => value !== undefined);
  return found.length === 0 ? undefined : Math.max(...found);
}
