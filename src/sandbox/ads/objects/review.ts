import type { SandboxContext } from "../../context.ts";
import { isFatigued } from "../magic-values.ts";
import type { Values } from "../values.ts";
import { effectiveStatus } from "./effective-status.ts";
import { type AdObject, type AdObjects, nameOf } from "./objects.ts";

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
export function createReview(context: SandboxContext, objects: AdObjects): (object: AdObject) => void {
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
