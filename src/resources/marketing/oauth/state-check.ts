import { ApiError, invalidField } from "../../../http/api-error.ts";
import type { SignedStates } from "../../../security/signatures-and-states.ts";
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

const INVALID_ADDRESS_MESSAGE = "must be an https URL, or an http URL on localhost";
const LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Reasons to reject a redirect_uri, in the order of the checks. The URL is passed on unchanged, so nothing is
 * normalised.
 */
const REDIRECT_URI_PROBLEMS: readonly { applies(text: string, url: URL): boolean; message: string }[] = [
  { applies: (text) => !/^https?:\/\/[^/\\]/i.test(text), message: INVALID_ADDRESS_MESSAGE },
  {
    applies: (text) => !/^[\x21-\x7e]+$/.test(text),
    message: "must be percent-encoded: visible ASCII characters only",
  },
  { applies: (text) => text.includes("#"), message: "must have no fragment" },
  {
    applies: (_, { username, password }) => username + password !== "",
    message: "must have no user name or password",
  },
  {
    applies: (_, { protocol, hostname }) => protocol === "http:" && !LOCAL_HOSTS.includes(hostname),
    message: INVALID_ADDRESS_MESSAGE,
  },
];

/** Throws a 400 for a URL to which no code may be sent. */
export function checkRedirectUri(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const problem = url
    ? REDIRECT_URI_PROBLEMS.find(({ applies }) => applies(text, url))?.message
    : INVALID_ADDRESS_MESSAGE;
  if (problem !== undefined) throw invalidField("/redirect_uri", `redirect_uri ${problem}`);
}
