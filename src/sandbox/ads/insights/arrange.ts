import { invalidParameter } from "../../wire/graph-error.ts";
import { plainText } from "../../wire/plain-text.ts";
import type { Condition } from "../filters.ts";
import { METRICS, type Measure } from "./metrics.ts";

interface Order {
  metric: string;
  /** 1 ascending, -1 descending. */
  direction: 1 | -1;
}

/** Filters and sort order by metrics. */
export interface Arrangement {
  conditions: readonly Condition[];
  order: readonly Order[];
}

export const isMetric = (field: string): boolean => Object.hasOwn(METRICS, field);

/** Parses a sort order such as `spend_descending`. */
export function readOrder(given: unknown): Order {
  const word = plainText(given);
  const [, metric = "", direction] = /^(\w+)_(ascending|descending)$/.exec(word) ?? [];
  if (!isMetric(metric)) throw invalidParameter(`Param sort does not support ${word}`);
  return { metric, direction: direction === "descending" ? -1 : 1 };
}

const countOf = (measure: Measure, metric: string) => Number(METRICS[metric]?.(measure) ?? 0);

/** Filters and sorts the rows. Computes metrics only when a condition or an order needs them. */
export function arrangeRows<R>(
  rows: readonly R[],
  { conditions, order }: Arrangement,
  measure: (row: R) => Measure,
): readonly R[] {
  if (conditions.length + order.length === 0) return rows;
  return rows
    .map((row) => ({ row, counted: measure(row) }))
    .filter(({ counted }) => conditions.every(({ field, matches }) => matches(countOf(counted, field))))
    .sort((one, other) => compareMeasures(one.counted, other.counted, order))
    .map(({ row }) => row);
}

const compareMeasures = (one: Measure, other: Measure, order: readonly Order[]): number =>
  order
    .map(({ metric, direction }) => (countOf(one, metric) - countOf(other, metric)) * direction)
    .find((difference) => difference !== 0) ?? 0;
