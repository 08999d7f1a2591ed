import { HOUR } from "../../runtime/durations.ts";
import type { AdAccount } from "../built-in-assets.ts";
import type { SandboxContext } from "../context.ts";
import type { Call } from "../wire/call.ts";
import { invalidParameter } from "../wire/graph-error.ts";
import { createChangeLimit } from "./change-limit.ts";
import type { AdKind, Draft } from "./objects/ad-kind.ts";
import { changesBudget } from "./objects/budgets.ts";
import type { AdObject, AdObjects } from "./objects/objects.ts";
import { createReview } from "./objects/review.ts";
import { refuse } from "./refusals.ts";
import { readValues } from "./values.ts";

const SUCCESS = { success: true };
const BUDGET_CHANGE_LIMIT = {
  maxChanges: 4,
  windowMs: HOUR,
  refusal: "budgetChangedTooOften",
} as const;

export interface ObjectWriter {
  create(kind: AdKind, account: AdAccount, call: Call): unknown;
  update(kind: AdKind, object: AdObject, call: Call): unknown;
  remove(object: AdObject): unknown;
}

/** Creates, updates and deletes objects of any kind by the kind's definition. */
export function createObjectWriter(context: SandboxContext, objects: AdObjects): ObjectWriter {
  const review = createReview(context, objects);
  const budgetChangeLimit = createChangeLimit(context, BUDGET_CHANGE_LIMIT);
  return {
    create(kind, account, call) {
      const changes = readValues(kind.params, call.params, account.timezone_name);
      const missing = kind.required.find((name) => changes[name] === undefined);
      if (missing) throw invalidParameter(`The parameter ${missing} is required.`);
      const values = { ...kind.defaults, ...changes };
      checkRules(kind, { objects, account, values, changes });
      if (isValidateOnly(call)) return SUCCESS;
      const object = objects.add(kind.kind, account, values);
      review(object);
      return { id: object.id };
    },
    update(kind, object, call) {
      const { account } = object;
      const changes = readValues(kind.params, call.params, account.timezone_name);
      checkChangeable(kind, object, Object.keys(changes));
      checkRules(kind, {
        objects,
        account,
        values: { ...object.values, ...changes },
        changes,
        before: object,
      });
      const isBudgetChange = object.kind === "adset" && changesBudget(object.values, changes);
      if (isBudgetChange) budgetChangeLimit.check(object.id);
      if (isValidateOnly(call)) return SUCCESS;
      if (isBudgetChange) budgetChangeLimit.count(object.id);
      Object.assign(object.values, changes);
      object.updated = new Date();
      return SUCCESS;
    },
    remove(object) {
      object.values.status = "DELETED";
      object.updated = new Date();
      return SUCCESS;
    },
  };
}

function checkRules({ rules }: AdKind, draft: Draft): void {
  for (const rule of rules) {
    const refusal = rule(draft);
    if (refusal) throw refusal;
  }
}

function checkChangeable(
  { frozen, immutable }: AdKind,
  { values }: AdObject,
  names: readonly string[],
): void {
  const refusalName = frozen[String(values.status)];
  if (refusalName && names.some((name) => name !== "name")) throw refuse(refusalName);
  const immutableName = names.find((name) => immutable.includes(name));
  if (immutableName) throw refuse("unchangeable", [immutableName]);
}

function isValidateOnly({ params }: Call): boolean {
  return params.list("execution_options")?.includes("validate_only") ?? false;
}
