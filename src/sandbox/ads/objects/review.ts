import type { SandboxContext } from "../../context.ts";
import type { Values } from "../values.ts";
import { effectiveStatus } from "./effective-status.ts";
import type { AdObject, AdObjects } from "./objects.ts";

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

/** Formats a status for the webhook: `CAMPAIGN_PAUSED` becomes `Campaign Paused`. */
const toTitleCase = (status: string) =>
  status
    .toLowerCase()
    .replaceAll("_", " ")
    .replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());

/** Returns a function that reviews a new object after a delay and sends the result as a webhook. */
export function createReview(context: SandboxContext, objects: AdObjects): (object: AdObject) => void {
  const sendWebhook = ({ id, kind, account }: AdObject, field: string, rest: Values) => {
    const changes = [{ field, value: { id, level: WEBHOOK_LEVELS[kind], ...rest } }];
    const time = Math.floor(Date.now() / 1000);
    context.webhooks.send({ object: "ad_account", entry: [{ id: account.id, time, changes }] });
  };
  return (object) => {
    if (WEBHOOK_LEVELS[object.kind] === undefined) return;
    object.inProcess = true;
    context.schedule(REVIEW_DELAY_MS, () => {
      object.inProcess = false;
      const status = effectiveStatus(objects, object);
      sendWebhook(object, "in_process_ad_objects", { status_name: toTitleCase(status) });
      if (status === "DISAPPROVED") sendWebhook(object, "with_issues_ad_objects", ISSUE);
    });
  };
}
