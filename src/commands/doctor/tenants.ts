import type { Database } from "../../store/database/database.ts";
import { listKeysOfDisabledUsers } from "../../store/tenants/api-keys.ts";
import { type Finding, ok, warning } from "./finding.ts";

const MAX_NAMED_KEYS = 5;

/** A key keeps working when the user who created it is disabled. */
export async function examineApiKeys(db: Database): Promise<Finding> {
  const keys = await listKeysOfDisabledUsers(db);
  if (keys.length === 0) return ok("api_keys", "none was created by a user who is disabled now");
  const named = keys.slice(0, MAX_NAMED_KEYS).map(({ id, creator }) => `${id} (${creator})`);
  const rest = keys.length > MAX_NAMED_KEYS ? ` and ${keys.length - MAX_NAMED_KEYS} more` : "";
  return warning(
    "api_keys",
    `${keys.length} in use ${keys.length === 1 ? "was" : "were"} created by users who are disabled now: ${named.join(", ")}${rest}`,
    "check who has them; herald key revoke --id ID revokes one",
  );
}
