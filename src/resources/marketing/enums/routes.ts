import { type Route, route } from "../../../http/route.ts";
import {
  BID_STRATEGIES,
  BILLING_EVENTS,
  BUYING_TYPES,
  CALL_TO_ACTION_TYPES,
  DATE_PRESETS,
  DEFAULT_INSIGHTS_FIELDS,
  INSIGHTS_LEVELS,
  OBJECT_STATUSES,
  OBJECTIVES,
  OPTIMIZATION_GOALS,
  REPORT_STATUSES,
  SPECIAL_AD_CATEGORIES,
  TIME_INCREMENTS,
} from "../../../schema/ad-enumerations.ts";
import { AD_ACCOUNT_STATUSES, PLATFORMS, TEMPLATE_STATUSES } from "../../../schema/enumerations.ts";
import { object, Type } from "../../../schema/types.ts";

export const enumRoutes = (): Route[] => [
  route({
    method: "get",
    path: "/api/marketing/enums",
    operationId: "getEnumerations",
    scope: "marketing:read",
    summary: "List the values of every enumeration",
    description:
      "One list per field. `call_to_action_type`, `date_preset`, `time_increment` and `insights_fields` list common values; the ad platform accepts more.",
    etag: true,
    reply: enumerations,
    handle: () => ENUMERATIONS as Record<string, string[]>,
  }),
];

/** Every enumeration of the API, by the name of the field that has it. */
const ENUMERATIONS: Readonly<Record<string, readonly string[]>> = {
  status: OBJECT_STATUSES,
  objective: OBJECTIVES,
  special_ad_categories: SPECIAL_AD_CATEGORIES,
  buying_type: BUYING_TYPES,
  bid_strategy: BID_STRATEGIES,
  billing_event: BILLING_EVENTS,
  optimization_goal: OPTIMIZATION_GOALS,
  call_to_action_type: CALL_TO_ACTION_TYPES,
  ad_account_status: AD_ACCOUNT_STATUSES,
  template_status: TEMPLATE_STATUSES,
  platforms: PLATFORMS,
  async_status: REPORT_STATUSES,
  date_preset: DATE_PRESETS,
  time_increment: TIME_INCREMENTS,
  level: INSIGHTS_LEVELS,
  insights_fields: DEFAULT_INSIGHTS_FIELDS,
};

const valuesOf = (values: readonly string[]) => Type.Array(Type.String(), { examples: [values] });

const enumerations = object(
  Object.fromEntries(Object.entries(ENUMERATIONS).map(([name, values]) => [name, valuesOf(values)])),
  { title: "EnumsDto" },
);
