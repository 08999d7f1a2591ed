import { hash } from "node:crypto";
import { randomText } from "./random-text.ts";
import { type SecretBox, sealedContext } from "./secret-box.ts";

const TOKEN_LENGTH = 43;
const TOKEN_PATTERN = /^[0-9A-Za-z]{43}$/;

/** A new token of an embedded signup session; it is part of the session's URL and only its hash is stored. */
export function issueEmbedToken(): { token: string; tokenHash: string } {
  const token = randomText(TOKEN_LENGTH);
  return { token, tokenHash: digest(token) };
}

/** Undefined for a text that cannot be a token, so that it costs no query. */
export const embedTokenHash = (token: string): string | undefined =>
  TOKEN_PATTERN.test(token) ? digest(token) : undefined;

const digest = (token: string) => hash("sha256", token);

const contextOf = (sessionId: string) =>
  sealedContext({ table: "embed_sessions", column: "grant_sealed", id: sessionId });

/** Seals what a person has granted in a try, as JSON, while Herald waits for the person. */
export const sealGrant = (box: SecretBox, sessionId: string, grant: string): string =>
  box.seal(grant, contextOf(sessionId));

export const openGrant = (box: SecretBox, sessionId: string, sealed: string): string =>
  box.open(sealed, contextOf(sessionId));
