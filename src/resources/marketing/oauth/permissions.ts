import { ApiError } from "../../../runtime/errors.ts";

/** What the person is asked for. */
export const ASKED = ["ads_management", "ads_read", "business_management"] as const;

/** Without it there is nothing that the service could do. */
const NEEDED = "ads_management";

/** 400 unless the person has granted what is needed; it then names all that they have not. */
export function checkPermissions(permissions: ReadonlyMap<string, string>): void {
  if (permissions.get(NEEDED) === "granted") return;
  const missing = ASKED.filter((name) => permissions.get(name) !== "granted");
  const message = `The permission ${NEEDED} was not granted: open the dialog again and leave it ticked`;
  throw new ApiError("missing_permission", message, { extra: { missing } });
}
