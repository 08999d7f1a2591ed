import { plainText } from "../../wire/plain-text.ts";
import { EU_COUNTRIES, STATUSES } from "../enumerations.ts";
import { refuse } from "../refusals.ts";
import { list, object, oneOf, text, type Values } from "../values.ts";
import { type AdKind, type Draft, delivering, type Rule, startsAlive } from "./ad-kind.ts";

const adSetOf = ({ objects, account, values }: Draft) =>
  objects.findIn(account, "adset", String(values.adset_id));

const hasAdSet: Rule = (draft) => {
  const adSet = adSetOf(draft);
  return draft.before || (adSet && adSet.values.status !== "DELETED") ? undefined : refuse("noAdSet");
};

const creativeId = (values: Values) => plainText((values.creative as Values).creative_id ?? "");

const hasCreative: Rule = ({ objects, account, values, changes }) => {
  if (changes.creative === undefined) return undefined;
  const creative = objects.findIn(account, "creative", creativeId(values));
  return creative && creative.values.status !== "DELETED" ? undefined : refuse("noCreative");
};

/** Every country that a targeting names, be it through a region or a city. */
function countriesOf(targeting: unknown): unknown[] {
  const {
    countries = [],
    country_groups = [],
    ...places
  } = ((targeting as Values).geo_locations ?? {}) as Values;
  const inPlaces = Object.values(places)
    .flat()
    .map((place) => (place as Values | null)?.country);
  return [countries, country_groups, inPlaces].flat();
}

const EU: readonly unknown[] = [...EU_COUNTRIES, "europe", "eea", "worldwide"];

const saysWhoPays: Rule = (draft) => {
  if (draft.before) return undefined;
  const { targeting, dsa_beneficiary, dsa_payor } = adSetOf(draft)?.values ?? {};
  if (dsa_beneficiary !== undefined && dsa_payor !== undefined) return undefined;
  return countriesOf(targeting).some((country) => EU.includes(country)) ? refuse("noPayer") : undefined;
};

export const ad: AdKind = {
  kind: "ad",
  type: "Ad",
  params: {
    name: text,
    adset_id: text,
    creative: object,
    status: oneOf(STATUSES),
    tracking_specs: list,
  },
  required: ["name", "adset_id", "creative"],
  fixed: ["adset_id"],
  defaults: { status: "ACTIVE" },
  rules: [startsAlive, hasAdSet, hasCreative, saysWhoPays],
  shown: {
    ...delivering,
    campaign_id: (self, objects) => objects.lineage(self).at(-1)?.id,
    creative: ({ values }) => ({ id: creativeId(values) }),
  },
  byDefault: [],
  frozen: { DELETED: "deletedAd", ARCHIVED: "archivedAd" },
};
