import { ApiError } from "../../../http/api-error.ts";

/** The permissions that the dialog requests. */
export const REQUESTED_PERMISSIONS = ["ads_management", "ads_read", "business_management"] as const;

/** Without this permission no ad account can be managed. */
const REQUIRED_PERMISSION = "ads_management";

/** Throws a 400 unless the required permission was granted; `missing` lists all that were not. */
export function checkPermissions(permissions: ReadonlyMap<string, string>): void {
  if (permissions.get(REQUIRED_PERMISSION) === "granted") return;
  const missing = REQUESTED_PERMISSIONS.filter((name) => permissions.get(name) !== "granted");
  const message = `The permission ${REQUIRED_PERMISSION} was not granted: open the dialog again and grant it`;
  throw new ApiError("missing_permission", message, { extra: { missing } });
}
