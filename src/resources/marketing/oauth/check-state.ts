import { ApiError } from "../../../http/api-error.ts";
import type { SignedStates } from "../../../security/signed-states.ts";
import { consumeState } from "../../../store/ads/oauth-states.ts";
import type { Database } from "../../../store/database/database.ts";

interface StateParts {
  db: Database;
  states: SignedStates;
}

interface ReturnedState {
  clientId: string;
  redirectUri: string;
  state: string;
}

/** Checks signature, binding and expiry of the OAuth state, and consumes it: a second use fails. */
export async function checkState(
  { db, states }: StateParts,
  { clientId, redirectUri, state }: ReturnedState,
): Promise<void> {
  const read = states.read(state, [clientId, redirectUri]);
  if (read.outcome !== "valid") throw unusableState(STATE_ERRORS[read.outcome]);
  if (!(await consumeState(db, read))) throw unusableState("The state was already used");
}

const STATE_ERRORS = {
  invalid: "The state was not issued for this client and redirect_uri",
  expired: "The state has expired",
} as const;

export const RETRY_ADVICE = "request a new login URL and send the person there again";

const unusableState = (reason: string) => new ApiError("missing_permission", `${reason}: ${RETRY_ADVICE}`);
