import type { SignupParts } from "../../domain/embed/signup-run.ts";
import { ApiError, DATABASE_ERRORS } from "../../http/api-error.ts";
import type { EmbedStates } from "../../security/embed-states.ts";
import type { DialogSettings } from "./dialog-url.ts";

/** The page's routes have no credential: the session's token in the path, or the state, admits the person. */
export const PAGE_ROUTE = {
  scope: "public",
  undocumented: true,
  headers: { "Referrer-Policy": "no-referrer" },
} as const;

/** Errors of every route that reads a session. */
export const SESSION_ERRORS = ["session_gone", ...DATABASE_ERRORS, "outcome_unknown"] as const;

export interface PageParts extends Omit<SignupParts, "redirectUri" | "db"> {
  embedStates: EmbedStates;
  settings: DialogSettings;
}

export const notPossibleNow = (message: string) => new ApiError("invalid_state_transition", message);
