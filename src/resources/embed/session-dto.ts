import type { CreatedSession } from "../../domain/embed/sessions.ts";
import { JsonText } from "../../runtime/json/json.ts";
import type { EmbedErrorDto, EmbedResultDto } from "../../schema/channels.ts";
import type { EmbedStatus, Platform } from "../../schema/enumerations.ts";
import { toTimestamp } from "../../schema/timestamps.ts";
import type { EmbedSessionRow } from "../../store/embed/sessions.ts";
import type { CreatedEmbedSessionDto, EmbedSessionDto, PrefillDto } from "./schema.ts";

const commonFields = (row: EmbedSessionRow) => ({
  id: row.id,
  status: row.status as EmbedStatus,
  expires_at: toTimestamp(row.expires_at),
  allowed_origins: row.allowed_origins,
  platforms: row.platforms as Platform[],
  external_ref: row.external_ref,
  // The text as received: parsing it would round long integers.
  prefill: row.prefill === null ? null : (new JsonText(row.prefill) as PrefillDto),
  created_at: toTimestamp(row.created_at),
});

/** The only reply that contains the token. */
export const toCreatedSession = (
  { row, token }: CreatedSession,
  publicUrl: string,
): CreatedEmbedSessionDto => ({
  ...commonFields(row),
  url: `${publicUrl}/embed/${token}`,
  token,
});

export const toSession = (row: EmbedSessionRow): EmbedSessionDto => ({
  ...commonFields(row),
  opened_at: toTimestamp(row.opened_at),
  completed_at: toTimestamp(row.completed_at),
  revoked_at: toTimestamp(row.revoked_at),
  result: resultOf(row),
  error: errorOf(row),
});

export const resultOf = ({ result }: EmbedSessionRow): EmbedResultDto | null =>
  result === null ? null : JSON.parse(result);

export const errorOf = ({ error_code, error_message, error_step }: EmbedSessionRow): EmbedErrorDto | null =>
  error_code === null
    ? null
    : ({ code: error_code, message: error_message, step: error_step } as EmbedErrorDto);
