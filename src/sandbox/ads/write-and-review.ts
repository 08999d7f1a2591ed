import type { AdAccount } from "../built-in-assets.ts";
import type { SandboxContext } from "../context.ts";
import { invalidParameter } from "../graph/graph-error.ts";
import type { Call } from "../graph/node.ts";
import { isFatigued } from "../magic-values.ts";
import { BUDGET_CHANGE_LIMIT, changesBudget, createChangeLimit } from "./budgets-and-spend-cap.ts";
import {
  type AdKind,
  type AdObject,
  type AdObjects,
  type Draft,
  effectiveStatus,
  nameOf,
} from "./objects.ts";
import { refuse } from "./refusals.ts";
import { readValues, type Values } from "./values.ts";

const SUCCESS = { success: true };

interface ObjectWriter {
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

/** Duration of a new object's review. */
const REVIEW_DELAY_MS = 400;

const WEBHOOK_LEVELS: Partial<Record<AdObject["kind"], string>> = {
  campaign: "CAMPAIGN",
  adset: "AD_SET",
  ad: "AD",
};

const ISSUE = {
  error_code: "1359188",
  error_summary: "Ad Disapproved",
  error_message: "Your ad was not approved because it does not follow our advertising standards.",
};

const FATIGUE = {
  creative_fatigue_level: "HIGH",
  creative_fatigue_message: "Your audience has seen this creative too many times. Use a new creative.",
};

/** Formats a status for the webhook: `CAMPAIGN_PAUSED` becomes `Campaign Paused`. */
const toTitleCase = (status: string) =>
  status
    .toLowerCase()
    .replaceAll("_", " ")
    .replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());

/** Returns a function that reviews a new object after a delay and sends the result as webhooks. */
function createReview(context: SandboxContext, objects: AdObjects): (object: AdObject) => void {
  const sendWebhook = ({ account }: AdObject, field: string, value: Values) => {
    const time = Math.floor(Date.now() / 1000);
    const entry = [{ id: account.id, time, changes: [{ field, value }] }];
    context.webhooks.send({ object: "ad_account", entry });
  };
  const reportResult = (object: AdObject) => {
    const { id, kind, account } = object;
    const subject = { id, level: WEBHOOK_LEVELS[kind] };
    const status = effectiveStatus(objects, object);
    sendWebhook(object, "in_process_ad_objects", { ...subject, status_name: toTitleCase(status) });
    if (status === "DISAPPROVED") sendWebhook(object, "with_issues_ad_objects", { ...subject, ...ISSUE });
    if (kind === "ad" && isFatigued(nameOf(object)))
      sendWebhook(object, "creative_fatigue", { ad_account_id: account.id, adgroup_id: id, ...FATIGUE });
  };
  return (object) => {
    if (WEBHOOK_LEVELS[object.kind] === undefined) return;
    object.inProcess = true;
    context.schedule(REVIEW_DELAY_MS, () => {
      object.inProcess = false;
      reportResult(object);
    });
  };
}
