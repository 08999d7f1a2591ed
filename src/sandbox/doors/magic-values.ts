import { AD_MAGIC_VALUES } from "../ads/magic.ts";

/** Values that make something happen without a fault, as the numbers of payment test cards do. */
export const MAGIC_VALUES = [
  { value: "a template named `reject_...`", effect: "is rejected by the review" },
  { value: "a recipient ending in `0000`", effect: "fails with 131026" },
  { value: "a recipient ending in `0429`", effect: "is throttled first" },
  ...AD_MAGIC_VALUES,
] as const;
