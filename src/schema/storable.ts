import { nameOf, type Problem, pointerTo } from "./problems.ts";

/** Deeper than any input of ours; past it, code that walks the value could exhaust the stack. */
const DEEPEST = 100;

/** What Postgres cannot keep (U+0000, half a surrogate pair) or nobody should walk, wherever it stands in the value. */
export function storableProblem(value: unknown, whole: string): Problem | undefined {
  const flaw = findFlaw(value, 0);
  if (!flaw) return undefined;
  // The trail is gathered on the way back, only when there is something to say: the walk itself is on every request's way.
  const path = pointerTo(flaw.trail.reverse());
  return { path, message: `${nameOf(path, whole)} ${flaw.saying}` };
}

interface Flaw {
  saying: string;
  trail: string[];
}

function findFlaw(value: unknown, depth: number): Flaw | undefined {
  if (typeof value === "string") return textFlaw(value);
  if (typeof value !== "object" || value === null) return undefined;
  if (depth >= DEEPEST) return { saying: `is nested deeper than ${DEEPEST} levels`, trail: [] };
  if (!Array.isArray(value)) return fieldFlaw(value as Record<string, unknown>, depth);
  for (let index = 0; index < value.length; index++) {
    const flaw = findFlaw(value[index], depth + 1);
    if (flaw) return within(flaw, String(index));
  }
  return undefined;
}

function fieldFlaw(value: Record<string, unknown>, depth: number): Flaw | undefined {
  for (const key in value) {
    const named = textFlaw(key);
    if (named) return { ...named, saying: `has a field whose name ${named.saying}` };
    const flaw = findFlaw(value[key], depth + 1);
    if (flaw) return within(flaw, key);
  }
  return undefined;
}

function within(flaw: Flaw, key: string): Flaw {
  flaw.trail.push(key);
  return flaw;
}

function textFlaw(text: string): Flaw | undefined {
  if (text.includes("\u0000")) return { saying: "contains the character U+0000", trail: [] };
  return isWellFormed(text) ? undefined : { saying: "is not well-formed Unicode", trail: [] };
}

/** Node 20 has them, the ECMAScript 2023 types do not; the later ones promise what Node 20 has not. */
type WellFormable = string & { isWellFormed(): boolean; toWellFormed(): string };

const isWellFormed = (text: string) => (text as WellFormable).isWellFormed();

/** The text of somebody whom we cannot refuse, with a sign in the place of what Postgres cannot keep. */
export const toStorable = (text: string): string =>
  (text as WellFormable).toWellFormed().replaceAll("\u0000", "\ufffd");
