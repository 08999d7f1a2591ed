import { isDisapproved } from "../magic-values.ts";
import { type AdObject, type AdObjects, nameOf } from "./objects.ts";

const REMOVED_STATUSES = ["DELETED", "ARCHIVED"];
const UNSETTLED_ACCOUNT_STATUS = 3;

/** Derives the effective status from the object, its ancestors and its review. */
export function effectiveStatus(objects: AdObjects, object: AdObject): string {
  const lineage = objects.lineage(object);
  const removedStatus = REMOVED_STATUSES.find((status) =>
    lineage.some(({ values }) => values.status === status),
  );
  if (removedStatus) return removedStatus;
  if (object.inProcess) return "IN_PROCESS";
  if (object.kind === "ad" && isDisapproved(nameOf(object))) return "DISAPPROVED";
  const paused = lineage.filter(({ values }) => values.status === "PAUSED");
  if (paused.includes(object)) return "PAUSED";
  const highest = paused.at(-1);
  if (highest) return `${highest.kind.toUpperCase()}_PAUSED`;
  if (object.kind === "ad" && object.account.account_status === UNSETTLED_ACCOUNT_STATUS)
    return "PENDING_BILLING_INFO";
  return "ACTIVE";
}

/** Deleted and archived objects are hidden unless they are requested. */
export const isRemoved = (status: string): boolean => REMOVED_STATUSES.includes(status);
