interface Weight {
  quality: number;
  /** 2 for the exact type, 1 for a range of its subtypes, 0 for any type. */
  specificity: number;
}

const NOT_ACCEPTABLE: Weight = { quality: 0, specificity: 0 };

/**
 * Returns the type that an Accept header prefers, undefined when it has no preference. At equal quality the
 * more specific range wins: API clients send `application/json, *\/*`.
 */
export function preferredType<T extends string>(
  accept: string | undefined,
  types: readonly [T, T],
): T | undefined {
  const ranges = accept?.trim() ? accept.split(",").map(readRange) : [];
  const [one, other] = types.map((type) => weightOf(type, ranges)) as [Weight, Weight];
  const lead = one.quality - other.quality || one.specificity - other.specificity;
  return lead === 0 ? undefined : types[lead > 0 ? 0 : 1];
}

interface Range {
  type: string;
  quality: number;
}

function readRange(text: string): Range {
  const [type = "", ...parameters] = text.split(";").map((part) => part.trim().toLowerCase());
  const given = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
  const quality = given === undefined ? 1 : Number.parseFloat(given);
  return { type, quality: Number.isFinite(quality) ? quality : 0 };
}

/** Returns the weight of the most specific range that matches the type. */
function weightOf(type: string, ranges: readonly Range[]): Weight {
  const names = ["*/*", `${type.split("/")[0]}/*`, type];
  const matching = ranges
    .map((range) => ({ quality: range.quality, specificity: names.indexOf(range.type) }))
    .filter(({ specificity }) => specificity >= 0);
  const [mostSpecific = NOT_ACCEPTABLE] = matching.sort((one, other) => other.specificity - one.specificity);
  return mostSpecific.quality > 0 ? mostSpecific : NOT_ACCEPTABLE;
}
