import { CAUSES, causeOfCode } from "../../schema/causes/causes.ts";
import type { EventKey } from "../../schema/enumerations.ts";
import type { FailureGroupDto } from "../../schema/failures.ts";
import { type PeriodInput, type PeriodProblem, toTimestamp } from "../../schema/times.ts";
import type { Database } from "../../store/database/database.ts";
import {
  type DeliveryFailures,
  type FailurePeriod,
  groupFailures,
  type MessageFailures,
} from "../../store/stats/failures.ts";
import { boundPeriod } from "./read-stats.ts";

const MAX_FAILURE_DAYS = 31;
const MAX_SHOWN_GROUPS = 50;

/** Returns the given times (default: the last 24 h until now), or the problem with them. */
export function readFailurePeriod(input: PeriodInput, now: number): FailurePeriod | PeriodProblem {
  const bounds = boundPeriod(input, { now, maxDays: MAX_FAILURE_DAYS });
  if ("field" in bounds) return bounds;
  const { since, until } = bounds;
  // Without `until` there is no end: the clock of Postgres may be ahead of ours.
  return { since: new Date(since), ...(input.until === undefined ? {} : { until: new Date(until) }) };
}

/** The largest groups of the client's failures, of the wanted kinds; undefined when counting takes too long. */
export async function readFailures(
  db: Database,
  clientId: string,
  search: Parameters<typeof groupFailures>[2],
): Promise<FailureGroupDto[] | undefined> {
  const found = await groupFailures(db, clientId, search);
  if (!found) return undefined;
  const groups = mergeAlike([
    ...found.messages.map(toMessageGroup),
    ...found.deliveries.map(toDeliveryGroup),
  ]);
  return groups.sort(byCount).slice(0, MAX_SHOWN_GROUPS);
}

/** Most frequent first, of these the latest. */
const byCount = (one: FailureGroupDto, other: FailureGroupDto): number =>
  other.count - one.count || Date.parse(other.last_at) - Date.parse(one.last_at);

type Counted = Pick<MessageFailures, "count" | "first_at" | "last_at" | "sample_id">;

const countsOf = ({ count, first_at, last_at, sample_id }: Counted) => ({
  count,
  first_at: toTimestamp(first_at),
  last_at: toTimestamp(last_at),
  sample_id,
});

function toMessageGroup({ channel_id, error_code, ...counted }: MessageFailures): FailureGroupDto {
  const cause = causeOfCode(error_code);
  const { summary } = CAUSES[cause];
  return { kind: "message", channel_id, cause, summary, status_code: null, ...countsOf(counted) };
}

function toDeliveryGroup(failures: DeliveryFailures): FailureGroupDto {
  const { key, url, last_status_code, last_error: error, ...counted } = failures;
  return {
    kind: "delivery",
    key: key as EventKey | null,
    ...(url === null ? {} : { host: new URL(url).host }),
    ...deliveryCauseOf(error ?? ""),
    status_code: last_status_code,
    ...countsOf(counted),
  };
}

/** `HTTP 503` is http_status; other errors are their words in snake_case. */
const deliveryCauseOf = (error: string): { cause: string; summary: string } =>
  /^HTTP \d/.test(error)
    ? { cause: "http_status", summary: `Your backend answered with ${error}.` }
    : { cause: error.toLowerCase().replaceAll(" ", "_"), summary: `The last attempt failed: ${error}.` };

/** Several codes have the same cause, and several addresses the same host. */
function mergeAlike(groups: readonly FailureGroupDto[]): FailureGroupDto[] {
  const merged = new Map<string, FailureGroupDto>();
  for (const group of groups) {
    const { count, first_at, last_at, sample_id, ...shared } = group;
    const key = JSON.stringify(shared);
    const other = merged.get(key);
    merged.set(key, other ? mergeCounts(other, group) : group);
  }
  return [...merged.values()];
}

const mergeCounts = (one: FailureGroupDto, other: FailureGroupDto): FailureGroupDto => ({
  ...one,
  count: one.count + other.count,
  first_at: one.first_at < other.first_at ? one.first_at : other.first_at,
  last_at: one.last_at > other.last_at ? one.last_at : other.last_at,
  sample_id: one.sample_id > other.sample_id ? one.sample_id : other.sample_id,
});
