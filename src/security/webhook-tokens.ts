import { randomBytes } from "node:crypto";
import { type SecretBox, sealedContext } from "./secret-box.ts";

/** A client's sealed tokens: its row of webhook_configs. */
export interface SealedTokens {
  id: string;
  secret_sealed: string | null;
  former_secret_sealed: string | null;
  former_secret_until: Date | null;
}

/** The tokens that sign a client's events; `former` is set during the grace period after a change. */
export interface WebhookTokens {
  current?: string;
  former?: string;
}

type TokenColumn = "secret_sealed" | "former_secret_sealed";

/** Each column has its own context, so a token that moves between them must be resealed. */
const contextOf = (column: TokenColumn, id: string) =>
  sealedContext({ table: "webhook_configs", column, id });

export const generateWebhookToken = (): string => `whsec_${randomBytes(32).toString("base64")}`;

export const sealWebhookToken = (
  box: SecretBox,
  token: string,
  { column, id }: { column: TokenColumn; id: string },
): string => box.seal(token, contextOf(column, id));

export const isInGracePeriod = ({ former_secret_sealed, former_secret_until }: SealedTokens): boolean =>
  former_secret_sealed !== null && former_secret_until !== null && former_secret_until.getTime() > Date.now();

/** Returns the currently valid tokens. Throws a SecretBoxError when they cannot be opened. */
export function openWebhookTokens(row: SealedTokens, box: SecretBox): WebhookTokens {
  const { id, secret_sealed, former_secret_sealed } = row;
  const open = (sealed: string | null, column: TokenColumn) =>
    sealed === null ? undefined : box.open(sealed, contextOf(column, id));
  const current = open(secret_sealed, "secret_sealed");
  if (current === undefined) return {};
  const former = isInGracePeriod(row) ? open(former_secret_sealed, "former_secret_sealed") : undefined;
  return { current, ...(former === undefined ? {} : { former }) };
}
