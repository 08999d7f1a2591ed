import type { EmbedSessionRow } from "../../store/embed/sessions.ts";
import type { EventDraft } from "../events/record-events.ts";
import type { StepFailure } from "./signup-error.ts";

export const sessionFailed = (
  { id, client_id, external_ref }: EmbedSessionRow,
  { code, message, step }: StepFailure,
): EventDraft => ({
  clientId: client_id,
  type: "embed_session.failed",
  key: "embedded_signup",
  externalRef: external_ref,
  data: { session_id: id, code, message, step },
});
