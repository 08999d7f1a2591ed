import { invalidField } from "../../../http/api-error.ts";
import type { InsightsQuery } from "../../../platforms/ads/insights.ts";
import { MAX_NUMBER_CHARS, tryParseJson } from "../../../runtime/json/json.ts";
import { findExceededLimit } from "../../../runtime/json/json-limits.ts";
import type { InsightsQueryDto, NewReportDto } from "./schema.ts";

/** The platform's query of an API request for rows or for a report. */
export function toInsightsQuery(given: InsightsQueryDto | NewReportDto): InsightsQuery {
  const { object_id, level, fields, date_preset, since, until, time_increment, filtering } = given;
  return {
    objectId: object_id,
    level,
    fields: namesIn(fields),
    datePreset: date_preset,
    timeRange: since !== undefined && until !== undefined ? { since, until } : undefined,
    timeIncrement: time_increment === undefined ? undefined : String(time_increment),
    breakdowns: namesIn(given.breakdowns),
    actionBreakdowns: namesIn(given.action_breakdowns),
    filtering: typeof filtering === "string" ? readFiltering(filtering) : filtering,
    sort: namesIn(given.sort),
  };
}

/** The names of a comma-separated list, each once. */
const namesIn = (list: string | undefined): string[] | undefined =>
  list === undefined
    ? undefined
    : [...new Set(list.split(",").map((name) => name.trim()))].filter((name) => name !== "");

const FILTERING_LIMITS = { maxDepth: 20, maxValues: 5_000, maxNumberChars: MAX_NUMBER_CHARS };

function readFiltering(text: string): object[] {
  const conditions = findExceededLimit(Buffer.from(text), FILTERING_LIMITS) ? undefined : tryParseJson(text);
  if (!Array.isArray(conditions) || !conditions.every(isCondition))
    throw invalidField("/filtering", "filtering must be the JSON text of a list of objects");
  return conditions;
}

const isCondition = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);
