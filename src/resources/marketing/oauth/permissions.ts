import { ApiError } from "../../../http/api-error.ts";

/** What the person is asked for. */
export const REQUESTED_PERMISSIONS = ["ads_management", "ads_read", "business_management"] as const;

/** Without it there is nothing that the service could do. */
const REQUIRED_PERMISSION = "ads_management";

/** 400 unless the person has granted what is needed; it then names all that they have not. */
export function checkPermissions(permissions: ReadonlyMap<string, string>): void {
  if (permissions.get(REQUIRED_PERMISSION) === "granted") return;
  const missing = REQUESTED_PERMISSIONS.filter((name) => permissions.get(name) !== "granted");
  const message = `The permission ${REQUIRED_PERMISSION} was not granted: open the dialog again and leave it ticked`;
  throw new ApiError("missing_permission", message, { extra: { missing } });
}
