import type { TemplateStatus } from "../../schema/enumerations.ts";

/** Statuses in the platform's lists and webhooks. The platform may add others. */
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

/**
 * Maps to Herald's three statuses; only templates that can be sent are APPROVED. Undefined when the
 * platform's status does not change Herald's.
 */
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
