import { ApiError, notFound } from "../../http/api-error.ts";
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

/** Undefined for an unknown token. */
export async function findSession(db: Queryable, token: string): Promise<EmbedTryRow | undefined> {
  const tokenHash = embedTokenHash(token);
  return tokenHash === undefined ? undefined : findEmbedTry(db, tokenHash);
}

/** 404 for an unknown token. */
export async function requireSession(db: Queryable, token: string): Promise<EmbedTryRow> {
  const row = await findSession(db, token);
  if (!row) throw notFound("link");
  return row;
}

/** 404 for an unknown token, 410 for a session that can no longer be used. */
export async function requireUsableSession(db: Queryable, token: string): Promise<EmbedTryRow> {
  const row = await requireSession(db, token);
  const gone = goneStatusOf(row);
  if (gone) throw new ApiError("session_gone", GONE_MESSAGES[gone]);
  return row;
}
