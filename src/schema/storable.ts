import { type Problem, toFieldName, toPointer } from "./problems.ts";

/** Deeper than any valid input. Recursive code could exhaust the stack on deeper values. */
const MAX_DEPTH = 100;

/**
 * Finds the first text that Postgres rejects (U+0000, a lone surrogate), number that would be passed on as null, or nesting
 * that is too deep.
 */
export function findStorableProblem(value: unknown, rootName: string): Problem | undefined {
  const flaw = findFlaw(value, 0);
  if (!flaw) return undefined;
  // The path is collected only after a flaw is found, because every request pays for the walk.
  const path = toPointer(flaw.segments.reverse());
  return { path, message: `${toFieldName(path, rootName)} ${flaw.message}` };
}

interface Flaw {
  message: string;
  segments: string[];
}

function findFlaw(value: unknown, depth: number): Flaw | undefined {
  if (typeof value === "string") return findTextFlaw(value);
  if (typeof value === "number") return findNumberFlaw(value);
  if (typeof value !== "object" || value === null) return undefined;
  if (depth >= MAX_DEPTH) return { message: `is nested deeper than ${MAX_DEPTH} levels`, segments: [] };
  if (!Array.isArray(value)) return findFieldFlaw(value as Record<string, unknown>, depth);
  for (let index = 0; index < value.length; index++) {
    const flaw = findFlaw(value[index], depth + 1);
    if (flaw) return addSegment(flaw, String(index));
  }
  return undefined;
}

function findFieldFlaw(value: Record<string, unknown>, depth: number): Flaw | undefined {
  for (const key in value) {
    const keyFlaw = findTextFlaw(key);
    if (keyFlaw) return { ...keyFlaw, message: `has a field whose name ${keyFlaw.message}` };
    const flaw = findFlaw(value[key], depth + 1);
    if (flaw) return addSegment(flaw, key);
  }
  return undefined;
}

function addSegment(flaw: Flaw, key: string): Flaw {
  flaw.segments.push(key);
  return flaw;
}

function findTextFlaw(text: string): Flaw | undefined {
  if (text.includes("\u0000")) return { message: "contains the character U+0000", segments: [] };
  return isWellFormed(text) ? undefined : { message: "is not well-formed Unicode", segments: [] };
}

/** JSON.parse reads `1e400` as Infinity, which JSON.stringify writes as null. */
function findNumberFlaw(number: number): Flaw | undefined {
  if (Number.isFinite(number)) return undefined;
  return { message: `is too ${number < 0 ? "small" : "large"}`, segments: [] };
}

/** Methods that Node 20 has but the ECMAScript 2023 types lack; later types declare methods that Node 20 lacks. */
type WellFormable = string & { isWellFormed(): boolean; toWellFormed(): string };

const isWellFormed = (text: string) => (text as WellFormable).isWellFormed();

/** Replaces the characters that Postgres rejects by U+FFFD. For remote texts that cannot be rejected. */
export const toStorable = (text: string): string =>
  (text as WellFormable).toWellFormed().replaceAll("\u0000", "\ufffd");
