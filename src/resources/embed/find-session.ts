import { ApiError, notFound } from "../../http/api-error.ts";
import type { Exchange } from "../../http/route.ts";
import type { EmbedStatus } from "../../schema/enumerations.ts";
import { embedTokenHash } from "../../security/embed-tokens.ts";
import type { Queryable } from "../../store/database/database.ts";
import { type EmbedTryRow, findEmbedTry } from "../../store/embed/tries.ts";

export type GoneStatus = Extract<EmbedStatus, "completed" | "expired" | "revoked">;

export const GONE_MESSAGES: Readonly<Record<GoneStatus, string>> = {
  completed: "This link was already used",
  expired: "This link has expired",
  revoked: "This link was revoked",
};

/** The status of a session that can no longer be used; undefined while it can be. */
export const goneStatusOf = ({ status }: EmbedTryRow): GoneStatus | undefined =>
  Object.hasOwn(GONE_MESSAGES, status) ? (status as GoneStatus) : undefined;

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
  if (gone) throw new ApiError("session_gone", GONE_MESSAGES[gone]);
  return row;
}
