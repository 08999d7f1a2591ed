import { parseArgs } from "node:util";
import type { BenchCase } from "./frame/case.ts";

export interface BenchOptions {
  cases: readonly BenchCase[];
  rounds: number;
  scale: number;
  /** One round with a few items: shows that the cases work, not how fast they are. */
  isSmokeTest: boolean;
  /** Updates docs/benchmarks.*. */
  write: boolean;
}

const MIN_ROUNDS = 5;

/** Reads the arguments. Throws for unknown ones, because a run takes too long to find a typing error at its end. */
export function readOptions(args: readonly string[], allCases: readonly BenchCase[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      rounds: { type: "string", default: String(MIN_ROUNDS) },
      scale: { type: "string", default: "1" },
      smoke: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
    },
  });
  const rounds = values.smoke ? 1 : positive("rounds", values.rounds);
  const scale = positive("scale", values.scale);
  if (values.write && (rounds < MIN_ROUNDS || scale < 1))
    throw new Error(`--write needs at least ${MIN_ROUNDS} rounds with all items`);
  const cases = chooseCases(values.only, allCases);
  if (values.write && cases.some((chosen) => !allCases.includes(chosen)))
    throw new Error("--write needs whole cases, because it replaces all rows of a case");
  return { cases, rounds, scale, isSmokeTest: values.smoke, write: values.write };
}

/** `only` names cases (`webhook-endpoint`) and single variants (`webhook-endpoint/10`). */
function chooseCases(only: string | undefined, allCases: readonly BenchCase[]): readonly BenchCase[] {
  if (only === undefined) return allCases.filter(({ onlyWhenNamed }) => !onlyWhenNamed);
  const names = only.split(",");
  const known = allCases.flatMap(({ name, variants }) => [
    name,
    ...variants.map((variant) => `${name}/${variant.name}`),
  ]);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new Error(`--only: there is no ${unknown.join(", ")}; names: ${known.join(", ")}`);
  return allCases.flatMap((benchCase) => {
    const { name, variants } = benchCase;
    if (names.includes(name)) return [benchCase];
    const chosen = variants.filter((variant) => names.includes(`${name}/${variant.name}`));
    return chosen.length > 0 ? [{ ...benchCase, variants: chosen }] : [];
  });
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (value > 0 && (name !== "rounds" || Number.isInteger(value))) return value;
  throw new Error(`--${name} must be a positive number`);
}
