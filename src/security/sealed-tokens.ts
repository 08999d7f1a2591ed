import { hash, randomBytes, randomInt } from "node:crypto";
import { type SecretBox, SecretBoxError, sealedContext } from "./secret-box.ts";
import { randomText } from "./secret-text.ts";

const channelContext = (id: string) => sealedContext({ table: "channels", column: "token_sealed", id });

/** Seals a channel's token for storage. */
export const sealChannelToken = (box: SecretBox, id: string, token: string): string =>
  box.seal(token, channelContext(id));

export const openChannelToken = (box: SecretBox, id: string, sealed: string): string =>
  box.open(sealed, channelContext(id));

const connectionContext = (id: string) =>
  sealedContext({ table: "ad_connections", column: "token_sealed", id });

/** Seals the token of an ad connection for storage. */
export const sealConnectionToken = (box: SecretBox, id: string, token: string): string =>
  box.seal(token, connectionContext(id));

export const openConnectionToken = (box: SecretBox, id: string, sealed: string): string =>
  box.open(sealed, connectionContext(id));

/** Stored beside the sealed token to find connections with the same token. */
export const hashToken = (token: string): string => hash("sha256", token);

/** A client's sealed tokens: its row of webhook_configs. */
export interface SealedTokens {
  client_id: string;
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
const webhookContext = (column: TokenColumn, id: string) =>
  sealedContext({ table: "webhook_configs", column, id });

export const generateWebhookToken = (): string => `whsec_${randomBytes(32).toString("base64")}`;

export const sealWebhookToken = (
  box: SecretBox,
  token: string,
  { column, id }: { column: TokenColumn; id: string },
): string => box.seal(token, webhookContext(column, id));

export const isInGracePeriod = ({ former_secret_sealed, former_secret_until }: SealedTokens): boolean =>
  former_secret_sealed !== null && former_secret_until !== null && former_secret_until.getTime() > Date.now();

/** Returns the currently valid tokens. Throws a SecretBoxError when they cannot be opened. */
export function openWebhookTokens(row: SealedTokens, box: SecretBox): WebhookTokens {
  const { client_id: id, secret_sealed, former_secret_sealed } = row;
  const open = (sealed: string | null, column: TokenColumn) =>
    sealed === null ? undefined : box.open(sealed, webhookContext(column, id));
  const current = open(secret_sealed, "secret_sealed");
  if (current === undefined) return {};
  const former = isInGracePeriod(row) ? open(former_secret_sealed, "former_secret_sealed") : undefined;
  return { current, ...(former === undefined ? {} : { former }) };
}

const EMBED_TOKEN_LENGTH = 43;
const EMBED_TOKEN_PATTERN = /^[0-9A-Za-z]{43}$/;

/** A new token of an embedded signup session; it is part of the session's URL and only its hash is stored. */
export function issueEmbedToken(): { token: string; tokenHash: string } {
  const token = randomText(EMBED_TOKEN_LENGTH);
  return { token, tokenHash: hashToken(token) };
}

/** Undefined for a text that cannot be a token, so that it costs no query. */
export const embedTokenHash = (token: string): string | undefined =>
  EMBED_TOKEN_PATTERN.test(token) ? hashToken(token) : undefined;

const grantContext = (sessionId: string) =>
  sealedContext({ table: "embed_sessions", column: "grant_sealed", id: sessionId });

/** Seals what a person has granted in a try, as JSON, while Herald waits for the person. */
export const sealGrant = (box: SecretBox, sessionId: string, grant: string): string =>
  box.seal(grant, grantContext(sessionId));

export const openGrant = (box: SecretBox, sessionId: string, sealed: string): string =>
  box.open(sealed, grantContext(sessionId));

const PIN_DIGITS = 6;

/** A random two-step PIN for a phone number. */
export const generatePin = (): string => String(randomInt(10 ** PIN_DIGITS)).padStart(PIN_DIGITS, "0");

const pinContext = (phoneNumberId: string) =>
  sealedContext({ table: "number_pins", column: "pin_sealed", id: phoneNumberId });

/** Seals a phone number's PIN for storage. */
export const sealPin = (box: SecretBox, phoneNumberId: string, pin: string): string =>
  box.seal(pin, pinContext(phoneNumberId));

/** Undefined when no encryption key opens it: the person can then enter the PIN. */
export function openPin(box: SecretBox, phoneNumberId: string, sealed: string): string | undefined {
  try {
    return box.open(sealed, pinContext(phoneNumberId));
  } catch (error) {
    if (error instanceof SecretBoxError) return undefined;
    throw error;
  }
}
