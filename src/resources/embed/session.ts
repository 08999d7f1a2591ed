import type { CreatedSession } from "../../domain/embed/sessions.ts";
import { ApiError, notFound } from "../../http/api-error.ts";
import type { Exchange } from "../../http/route.ts";
import { JsonText } from "../../runtime/json/json.ts";
import type { EmbedErrorDto, EmbedResultDto } from "../../schema/channels.ts";
import type { EmbedLocale, EmbedStatus, EmbedTheme, Platform, TryPhase } from "../../schema/enumerations.ts";
import { toTimestamp } from "../../schema/times.ts";
import { embedTokenHash } from "../../security/sealed-tokens.ts";
import type { Queryable } from "../../store/database/database.ts";
import type { EmbedSessionRow } from "../../store/embed/sessions.ts";
import { type EmbedTryRow, findEmbedTry } from "../../store/embed/tries.ts";
import type { CreatedEmbedSessionDto, EmbedSessionDto, EmbedStateDto, PrefillDto } from "./schema.ts";

/** The page's routes have no credential: the session's token in the path, or the state, admits the person. */
export const PAGE_ROUTE = {
  scope: "public",
  undocumented: true,
  headers: { "Referrer-Policy": "no-referrer" },
} as const;

type GoneStatus = Extract<EmbedStatus, "completed" | "expired" | "revoked">;

const GONE_MESSAGES: Readonly<Record<GoneStatus, string>> = {
  completed: "This link was already used",
  expired: "This link has expired",
  revoked: "This link was revoked",
};

/** The status of a session that can no longer be used; undefined while it can be. */
export const goneStatusOf = ({ status }: EmbedSessionRow): GoneStatus | undefined =>
  Object.hasOwn(GONE_MESSAGES, status) ? (status as GoneStatus) : undefined;

/** The 410 of a session that can no longer be used. */
export const sessionGone = (status: GoneStatus, options?: { view: string }): ApiError =>
  new ApiError("session_gone", GONE_MESSAGES[status], options);

/** A request with the session's token in its path. */
interface SessionRequest extends Pick<Exchange, "addLogIds"> {
  params: { token: string };
}

/** Undefined for an unknown token. The log names the session, because it must not contain the token. */
export async function findSession(
  db: Queryable,
  { params, addLogIds }: SessionRequest,
): Promise<EmbedTryRow | undefined> {
  const tokenHash = embedTokenHash(params.token);
  const row = tokenHash === undefined ? undefined : await findEmbedTry(db, tokenHash);
  if (row) addLogIds({ client: row.client_id, session_id: row.id });
  return row;
}

/** 404 for an unknown token. */
export async function requireSession(db: Queryable, request: SessionRequest): Promise<EmbedTryRow> {
  const row = await findSession(db, request);
  if (!row) throw notFound("link");
  return row;
}

/** 404 for an unknown token, 410 for a session that can no longer be used. */
export async function requireUsableSession(db: Queryable, request: SessionRequest): Promise<EmbedTryRow> {
  const row = await requireSession(db, request);
  const gone = goneStatusOf(row);
  if (gone) throw sessionGone(gone);
  return row;
}

const commonFields = (row: EmbedSessionRow) => ({
  id: row.id,
  status: row.status as EmbedStatus,
  expires_at: toTimestamp(row.expires_at),
  allowed_origins: row.allowed_origins,
  platforms: row.platforms as Platform[],
  external_ref: row.external_ref,
  // The text as received: parsing it would round long integers.
  prefill: row.prefill === null ? null : (new JsonText(row.prefill) as PrefillDto),
  theme: row.theme as EmbedTheme,
  locale: row.locale as EmbedLocale,
  accent_color: row.accent_color,
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

const resultOf = ({ result }: EmbedSessionRow): EmbedResultDto | null =>
  result === null ? null : JSON.parse(result);

const errorOf = ({ error_code, error_message, error_step }: EmbedSessionRow): EmbedErrorDto | null =>
  error_code === null
    ? null
    : ({ code: error_code, message: error_message, step: error_step } as EmbedErrorDto);

/** The state that the page polls. Parts that do not apply are absent. */
export function toState(row: EmbedTryRow): EmbedStateDto {
  const [result, error, choices] = [resultOf(row), errorOf(row), choicesOf(row)];
  return {
    session_id: row.id,
    status: row.status as EmbedStatus,
    external_ref: row.external_ref,
    platforms: row.platforms as Platform[],
    try: tryOf(row),
    ...(row.try_phase === "choosing" ? { choices } : {}),
    ...(row.try_phase === "pin" ? { pin: pinOf(row, choices) } : {}),
    ...(result ? { result } : {}),
    ...(row.status === "failed" && error ? { error, ...failedPlatformOf(row) } : {}),
  };
}

/** Unknown of a try that failed before an upgrade. */
const failedPlatformOf = ({ try_platform }: EmbedTryRow): Pick<EmbedStateDto, "failed_platform"> =>
  try_platform === null ? {} : { failed_platform: try_platform as Platform };

/** The number is unknown of a try that waits since before an upgrade. */
const pinOf = (row: EmbedTryRow, [number]: Choice[]): NonNullable<EmbedStateDto["pin"]> => ({
  tries_left: row.pin_tries_left as number,
  ...(number ? { number } : {}),
});

const tryOf = ({ try_id, try_platform, try_phase }: EmbedTryRow): EmbedStateDto["try"] =>
  try_id === null ? null : { try_id, platform: try_platform as Platform, phase: try_phase as TryPhase };

type Choice = NonNullable<EmbedStateDto["choices"]>[number];

/** The assets from which the person can choose, or the number whose PIN is asked. */
export const choicesOf = ({ choices }: EmbedTryRow): Choice[] =>
  choices === null ? [] : JSON.parse(choices);
