import type { Ground } from "../context.ts";
import { deadToken, type GraphError } from "../wire/graph-error.ts";
import type { Grant } from "./tokens.ts";

/** Why a token that was issued here is not taken any more, if so. */
export function endOf({ tokens, now }: Ground, token: string, grant: Grant): GraphError | undefined {
  const cause = tokens.causeOfDeath(token);
  if (cause !== undefined) return deadToken(cause);
  if (grant.expires !== 0 && grant.expires * 1000 <= now()) return deadToken(463);
  return undefined;
}
