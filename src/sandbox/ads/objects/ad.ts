import { plainText } from "../../wire/plain-text.ts";
import { EU_COUNTRIES, STATUSES } from "../enumerations.ts";
import { refuse } from "../refusals.ts";
import { list, object, oneOf, text, type Values } from "../values.ts";
import { type AdKind, DELIVERY_FIELDS, type Draft, type Rule, requireActiveOrPaused } from "./ad-kind.ts";

const adSetOf = ({ objects, account, values }: Draft) =>
  objects.findIn(account, "adset", String(values.adset_id));

const requireAdSet: Rule = (draft) => {
  const adSet = adSetOf(draft);
  return draft.before || (adSet && adSet.values.status !== "DELETED") ? undefined : refuse("noAdSet");
};

const creativeIdOf = (values: Values) => plainText((values.creative as Values).creative_id ?? "");

const requireCreative: Rule = ({ objects, account, values, changes }) => {
  if (changes.creative === undefined) return undefined;
  const creative = objects.findIn(account, "creative", creativeIdOf(values));
  return creative && creative.values.status !== "DELETED" ? undefined : refuse("noCreative");
};

/** Returns every country that the targeting names, directly or through a region or city. */
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

const EU_LOCATIONS: readonly unknown[] = [...EU_COUNTRIES, "europe", "eea", "worldwide"];

const requirePayer: Rule = (draft) => {
  if (draft.before) return undefined;
  const { targeting, dsa_beneficiary, dsa_payor } = adSetOf(draft)?.values ?? {};
  if (dsa_beneficiary !== undefined && dsa_payor !== undefined) return undefined;
  return countriesOf(targeting).some((country) => EU_LOCATIONS.includes(country))
    ? refuse("noPayer")
    : undefined;
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
  immutable: ["adset_id"],
  defaults: { status: "ACTIVE" },
  rules: [requireActiveOrPaused, requireAdSet, requireCreative, requirePayer],
  computedFields: {
    ...DELIVERY_FIELDS,
    campaign_id: (self, objects) => objects.lineage(self).at(-1)?.id,
    creative: ({ values }) => ({ id: creativeIdOf(values) }),
  },
  defaultFields: [],
  frozen: { DELETED: "deletedAd", ARCHIVED: "archivedAd" },
};
