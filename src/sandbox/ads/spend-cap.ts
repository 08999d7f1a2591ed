import { DAY } from "../../runtime/durations.ts";
import type { AdAccount } from "../built-in-assets.ts";
import type { SandboxContext } from "../context.ts";
import { perSandbox } from "../per-sandbox.ts";
import type { Call } from "../wire/call.ts";
import { invalidParameter } from "../wire/graph-error.ts";
import { createChangeLimit } from "./change-limit.ts";
import { minorUnitsPerMajor } from "./currencies.ts";

/** Spend caps in minor units, by account id. */
const spendCapsOf = perSandbox(() => new Map<string, string>());

const CHANGE_LIMIT = { maxChanges: 10, windowMs: DAY, refusal: "spendCapChangedTooOften" } as const;

/** Returns the account's spend cap in minor units; "0" means no cap. */
export const spendCapOf = (context: SandboxContext, { id }: AdAccount): string =>
  spendCapsOf(context).get(id) ?? "0";

/** Returns a function that changes an account; only its spend cap can be changed. */
export function accountUpdater(context: SandboxContext) {
  const changeLimit = createChangeLimit(context, CHANGE_LIMIT);
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
