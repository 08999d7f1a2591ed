import { hash } from "node:crypto";
import { type SecretBox, sealedContext } from "./secret-box.ts";

const contextOf = (id: string) => sealedContext({ table: "ad_connections", column: "token_sealed", id });

/** Seals the token of an ad connection for storage. */
export const sealConnectionToken = (box: SecretBox, id: string, token: string): string =>
  box.seal(token, contextOf(id));

/** Stored beside the sealed token to find connections with the same token. */
export const hashToken = (token: string): string => hash("sha256", token);

export const openConnectionToken = (box: SecretBox, id: string, sealed: string): string =>
  box.open(sealed, contextOf(id));
