import { type DayRange, todayIn } from "../../../runtime/days.ts";
import type { AdAccount } from "../../built-in-assets.ts";
import type { Call } from "../../wire/call.ts";
import { GraphError, invalidParameter } from "../../wire/graph-error.ts";
import { combineFilters, readConditions } from "../filters.ts";
import { type AdObject, type AdObjects, LEVELS, type Level } from "../objects/objects.ts";
import { type Arrangement, isMetric, readOrder } from "./arrange.ts";
import { type Cell, checkActionBreakdowns, readCells } from "./breakdowns.ts";
import { EMPTY_METRICS, METRICS } from "./metrics.ts";
import { readPeriods } from "./periods.ts";
import { SUBJECT_FIELDS } from "./subject.ts";

/** The target of insights: an account, or one object in it. */
export interface InsightsTarget {
  account: AdAccount;
  object?: AdObject;
}

/** The parsed parameters of an insights call. */
export interface Query extends InsightsTarget {
  level: "account" | Level;
  fields: readonly string[];
  periods: readonly DayRange[];
  cells: readonly Cell[];
  breakdownCount: number;
  windows: readonly string[];
  passes: (object: AdObject) => boolean;
  arrangement: Arrangement;
}

const ALL_LEVELS = ["account", ...LEVELS] as const;
const DATE_FIELDS = ["date_start", "date_stop"];
const DEFAULT_FIELDS = ["account_id", "impressions", "spend"];

export function readQuery({ account, object }: InsightsTarget, call: Call, objects: AdObjects): Query {
  const { params } = call;
  const breakdowns = params.words("breakdowns") ?? [];
  checkActionBreakdowns(params.words("action_breakdowns") ?? []);
  const conditions = readConditions(call);
  return {
    account,
    ...(object ? { object } : {}),
    level: readLevel(params.text("level"), (object?.kind as Level | undefined) ?? "account"),
    fields: readFields(params.words("fields")),
    periods: readPeriods(params, todayIn(account.timezone_name)),
    cells: readCells(breakdowns),
    breakdownCount: breakdowns.length,
    windows: params.words("action_attribution_windows") ?? [],
    passes: combineFilters(
      conditions.filter(({ field }) => !isMetric(field)),
      objects,
    ),
    arrangement: {
      conditions: conditions.filter(({ field }) => isMetric(field)),
      order: (params.list("sort") ?? []).map(readOrder),
    },
  };
}

function readLevel(text: string | undefined, ownLevel: Query["level"]): Query["level"] {
  const level = text === undefined ? ownLevel : ALL_LEVELS.find((word) => word === text);
  if (!level) throw invalidParameter(`Param level must be one of {${ALL_LEVELS.join(", ")}}`);
  if (ALL_LEVELS.indexOf(level) < ALL_LEVELS.indexOf(ownLevel))
    throw new GraphError(1, "An unknown error occurred", { subcode: 99 });
  return level;
}

function readFields(words: readonly string[] | undefined): readonly string[] {
  const fields = (words ?? []).filter((word) => word !== "");
  const known = [...Object.keys(METRICS), ...Object.keys(SUBJECT_FIELDS), ...EMPTY_METRICS, ...DATE_FIELDS];
  const unknownField = fields.find((field) => !known.includes(field));
  if (unknownField) throw invalidParameter(`${unknownField} is not valid for fields param.`);
  return fields.length === 0 ? DEFAULT_FIELDS : fields;
}
