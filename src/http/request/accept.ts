interface Weight {
  quality: number;
  /** How exactly the type was named: itself, its kind, or anything at all. */
  specificity: number;
}

const NOT_ACCEPTABLE: Weight = { quality: 0, specificity: 0 };

/**
 * Which of two types an Accept header prefers, undefined where it leaves that open. Of two that are as welcome the one
 * that is named more exactly is preferred: `application/json, *\/*` is how clients of an API ask.
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

/** What the range says that names the type most exactly, whatever else the others say. */
function weightOf(type: string, ranges: readonly Range[]): Weight {
  const names = ["*/*", `${type.split("/")[0]}/*`, type];
  const matching = ranges
    .map((range) => ({ quality: range.quality, specificity: names.indexOf(range.type) }))
    .filter(({ specificity }) => specificity >= 0);
  const [mostSpecific = NOT_ACCEPTABLE] = matching.sort((one, other) => other.specificity - one.specificity);
  return mostSpecific.quality > 0 ? mostSpecific : NOT_ACCEPTABLE;
}
