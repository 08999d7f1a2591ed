import type { EmbedStateDto } from "../../page-schema.ts";

/** The answer of `GET /embed/{token}/state`, without what the page already knows. */
export type EmbedState = Omit<EmbedStateDto, "session_id" | "external_ref" | "platforms">;

/** The running try: `dialog` waits for the popup, `connecting` for the server, the others for the person. */
export type Try = NonNullable<EmbedState["try"]>;

/** A number, page or photo account that the person can connect. */
export type Choice = NonNullable<EmbedState["choices"]>[number];

export type Failure = NonNullable<EmbedState["error"]>;

/** True when the session cannot change any more. */
export const isFinal = ({ status }: EmbedState): boolean =>
  status === "completed" || status === "expired" || status === "revoked";

export type Outcome = "completed" | "failed" | "cancelled";

/** Returns how the try ended; undefined while it or another one runs, and when the session has ended without it. */
export function outcomeOf(tryId: string | undefined, { status, ...state }: EmbedState): Outcome | undefined {
  if (status === "completed") return "completed";
  if (tryId === undefined || state.try !== null) return undefined;
  if (status === "failed") return "failed";
  return status === "opened" ? "cancelled" : undefined;
}
