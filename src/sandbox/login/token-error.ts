import type { SandboxContext } from "../context.ts";
import { deadToken, type GraphError } from "../wire/graph-error.ts";
import type { Grant } from "./tokens.ts";

/** Returns the error of a revoked or expired token; undefined while the token is valid. */
export function tokenErrorOf(
  { tokens, now }: SandboxContext,
  token: string,
  grant: Grant,
): GraphError | undefined {
  const subcode = tokens.revocationSubcode(token);
  if (subcode !== undefined) return deadToken(subcode);
  if (grant.expires !== 0 && grant.expires * 1000 <= now()) return deadToken(463);
  return undefined;
}
