const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

interface Field {
  min: number;
  max: number;
  /** Names that stand for numbers; the first stands for `min`. */
  words?: readonly string[];
}

/** Second, minute, hour, day of the month, month, day of the week. */
const FIELDS: readonly Field[] = [
  { min: 0, max: 59 },
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, words: MONTHS },
  { min: 0, max: 7, words: DAYS },
];

/** True for six fields, each made of lists, ranges and steps within its bounds. */
export function isCronExpression(text: string): boolean {
  const parts = text.split(" ");
  return (
    parts.length === FIELDS.length && parts.every((part, index) => isField(part, FIELDS[index] as Field))
  );
}

const isField = (text: string, field: Field) => text.split(",").every((entry) => isEntry(entry, field));

function isEntry(text: string, field: Field): boolean {
  const [range = "", step, ...rest] = text.split("/");
  if (rest.length > 0 || (step !== undefined && !/^[1-9]\d?$/.test(step))) return false;
  if (range === "*") return true;
  const [from, to, ...more] = range.split("-").map((value) => numberOf(value, field));
  if (more.length > 0 || from === undefined) return false;
  return range.includes("-") ? to !== undefined && from <= to : true;
}

function numberOf(text: string, { min, max, words = [] }: Field): number | undefined {
  const word = words.indexOf(text.toLowerCase());
  if (word !== -1) return min + word;
  const number = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  return number >= min && number <= max ? number : undefined;
}
