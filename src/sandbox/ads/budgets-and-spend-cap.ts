import { DAY, HOUR } from "../../runtime/durations.ts";
import type { AdAccount } from "../built-in-assets.ts";
import { perSandbox, type SandboxContext } from "../context.ts";
import { invalidParameter } from "../graph/graph-error.ts";
import type { Call } from "../graph/node.ts";
import type { Rule } from "./objects.ts";
import { type RefusalName, refuse } from "./refusals.ts";
import type { Values } from "./values.ts";

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

/** Spend caps in minor units, by account id. */
const spendCapsOf = perSandbox(() => new Map<string, string>());

/** Returns the account's spend cap in minor units; "0" means no cap. */
export const spendCapOf = (context: SandboxContext, { id }: AdAccount): string =>
  spendCapsOf(context).get(id) ?? "0";

/** Returns a function that changes an account; only its spend cap can be changed. */
export function accountUpdater(context: SandboxContext) {
  const changeLimit = createChangeLimit(context, SPEND_CAP_CHANGE_LIMIT);
  return (account: AdAccount, call: Call): unknown => {
    const spendCap = readSpendCap(account, call);
    if (spendCap !== undefined && spendCap !== spendCapOf(context, account)) {
      changeLimit.check(account.id);
      changeLimit.count(account.id);
      spendCapsOf(context).set(account.id, spendCap);
    }
    return { success: true };
  };
}

/** At most 13 digits, so that the amount in minor units is an exact number. */
const MAJOR_UNITS = /^(\d{1,13})(?:\.(\d{1,2}))?$/;

/** The platform reads this amount in major units, unlike budgets. */
function readSpendCap({ currency }: AdAccount, { params }: Call): string | undefined {
  const text = params.text("spend_cap");
  if (text === undefined) return undefined;
  const [, whole, fraction = ""] = MAJOR_UNITS.exec(text) ?? [];
  const hundredths = Number(whole) * 100 + Number(fraction.padEnd(2, "0"));
  const minorUnits = hundredths / (100 / minorUnitsPerMajor(currency));
  if (!Number.isInteger(minorUnits))
    throw invalidParameter("Param spend_cap must be an amount in the account's currency");
  return String(minorUnits);
}

const CURRENCIES_WITHOUT_MINOR_UNIT = ["CLP", "JPY", "KRW", "PYG", "VND"];

/** Returns how many minor units make one major unit of the currency. */
export const minorUnitsPerMajor = (currency: string): 1 | 100 =>
  CURRENCIES_WITHOUT_MINOR_UNIT.includes(currency) ? 1 : 100;

export const BUDGET_CHANGE_LIMIT: ChangeLimitOptions = {
  maxChanges: 4,
  windowMs: HOUR,
  refusal: "budgetChangedTooOften",
};
const SPEND_CAP_CHANGE_LIMIT: ChangeLimitOptions = {
  maxChanges: 10,
  windowMs: DAY,
  refusal: "spendCapChangedTooOften",
};

interface ChangeLimitOptions {
  maxChanges: number;
  windowMs: number;
  /** The error for a change above the limit. */
  refusal: RefusalName;
}

interface ChangeLimit {
  /** Throws when another change would exceed the limit. */
  check(id: string): void;
  /** Counts a change until the window has passed. */
  count(id: string): void;
}

/** Limits how often an object can be changed within a sliding window. */
export function createChangeLimit(
  { schedule }: Pick<SandboxContext, "schedule">,
  { maxChanges, windowMs, refusal }: ChangeLimitOptions,
): ChangeLimit {
  const counts = new Map<string, number>();
  const countOf = (id: string) => counts.get(id) ?? 0;
  return {
    check(id) {
      if (countOf(id) >= maxChanges) throw refuse(refusal);
    },
    count(id) {
      counts.set(id, countOf(id) + 1);
      schedule(windowMs, () => counts.set(id, countOf(id) - 1));
    },
  };
}
