import { refuse } from "../refusals.ts";
import type { Values } from "../values.ts";
import type { Rule } from "./ad-kind.ts";

const BUDGETS = ["daily_budget", "lifetime_budget"] as const;

/** In the smallest unit of the currency. The platform's minimum varies by currency and billing event. */
const MIN_BUDGET = 100;

export const hasBudget = (values: Values): boolean => BUDGETS.some((name) => values[name] !== undefined);

export const rejectTwoBudgets: Rule = ({ values }) =>
  BUDGETS.every((name) => values[name] !== undefined) ? refuse("twoBudgets") : undefined;

export const requireMinimumBudget: Rule = ({ values }) => {
  const low = BUDGETS.find((name) => values[name] !== undefined && Number(values[name]) < MIN_BUDGET);
  return low && refuse("budgetTooLow", [low]);
};

export const changesBudget = (before: Values, changes: Values): boolean =>
  BUDGETS.some((name) => changes[name] !== undefined && changes[name] !== before[name]);
