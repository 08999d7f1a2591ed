import type { TemplateStatus } from "../../schema/enumerations.ts";

/** The platform's own words, in its lists and its notices. It may come to have others. */
export const PLATFORM_TEMPLATE_STATUSES = [
  "APPROVED",
  "ARCHIVED",
  "DELETED",
  "DISABLED",
  "FLAGGED",
  "IN_APPEAL",
  "LIMIT_EXCEEDED",
  "LOCKED",
  "PAUSED",
  "PENDING",
  "PENDING_DELETION",
  "REINSTATED",
  "REJECTED",
  "UNARCHIVED",
] as const;

/** Of our three words, so that APPROVED always means sendable; undefined where the platform's word leaves it as it was. */
export function toTemplateStatus(platformStatus: string): TemplateStatus | undefined {
  switch (platformStatus) {
    case "PENDING":
    case "IN_APPEAL":
      return "PENDING";
    case "APPROVED":
    case "REINSTATED":
      return "APPROVED";
    case "FLAGGED":
    case "UNARCHIVED":
      return undefined;
    default:
      return "REJECTED";
  }
}
