import type { AdAccount } from "../../built-in-assets.ts";
import type { Call } from "../../wire/call.ts";
import { GraphError, invalidParameter } from "../../wire/graph-error.ts";
import { conditionsOf, passing } from "../filters.ts";
import { type AdObject, type AdObjects, LEVELS, type Level } from "../objects/objects.ts";
import { todayIn } from "../times.ts";
import { type Arrangement, isMetric, readOrder } from "./arrange.ts";
import { type Cell, checkActionBreakdowns, readCells } from "./breakdowns.ts";
import type { Range } from "./days.ts";
import { METRICS, SILENT_METRICS } from "./metrics.ts";
import { readPeriods } from "./periods.ts";
import { IDENTITY } from "./subject.ts";

/** What insights are asked of: an account, or one object in it. */
export interface Measured {
  account: AdAccount;
  object?: AdObject;
}

/** A call for insights, understood. */
export interface Query extends Measured {
  level: "account" | Level;
  fields: readonly string[];
  periods: readonly Range[];
  cells: readonly Cell[];
  breakdowns: number;
  windows: readonly string[];
  passes: (object: AdObject) => boolean;
  arrangement: Arrangement;
}

const ALL_LEVELS = ["account", ...LEVELS] as const;
const ALWAYS = ["date_start", "date_stop"];
const BY_DEFAULT = ["account_id", "impressions", "spend"];

export function readQuery({ account, object }: Measured, call: Call, objects: AdObjects): Query {
  const { params } = call;
  const breakdowns = params.words("breakdowns") ?? [];
  checkActionBreakdowns(params.words("action_breakdowns") ?? []);
  const conditions = conditionsOf(call);
  return {
    account,
    ...(object ? { object } : {}),
    level: readLevel(params.text("level"), (object?.kind as Level | undefined) ?? "account"),
    fields: readFields(params.words("fields")),
    periods: readPeriods(params, todayIn(account.timezone_name)),
    cells: readCells(breakdowns),
    breakdowns: breakdowns.length,
    windows: params.words("action_attribution_windows") ?? [],
    passes: passing(
      conditions.filter(({ field }) => !isMetric(field)),
      objects,
    ),
    arrangement: {
      conditions: conditions.filter(({ field }) => isMetric(field)),
      order: (params.list("sort") ?? []).map(readOrder),
    },
  };
}

function readLevel(text: string | undefined, own: Query["level"]): Query["level"] {
  const level = text === undefined ? own : ALL_LEVELS.find((word) => word === text);
  if (!level) throw invalidParameter(`Param level must be one of {${ALL_LEVELS.join(", ")}}`);
  if (ALL_LEVELS.indexOf(level) < ALL_LEVELS.indexOf(own))
    throw new GraphError(1, "An unknown error occurred", { subcode: 99 });
  return level;
}

function readFields(words: readonly string[] | undefined): readonly string[] {
  const fields = (words ?? []).filter((word) => word !== "");
  const known = [...Object.keys(METRICS), ...Object.keys(IDENTITY), ...SILENT_METRICS, ...ALWAYS];
  const stray = fields.find((field) => !known.includes(field));
  if (stray) throw invalidParameter(`${stray} is not valid for fields param.`);
  return fields.length === 0 ? BY_DEFAULT : fields;
}
