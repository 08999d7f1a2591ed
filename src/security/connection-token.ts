import { hash } from "node:crypto";
import { type SecretBox, sealedContext } from "./secret-box.ts";

const contextOf = (id: string) => sealedContext({ table: "ad_connections", column: "token_sealed", id });

/** The token of an ad connection as it is kept. */
export const sealConnectionToken = (box: SecretBox, id: string, token: string): string =>
  box.seal(token, contextOf(id));

/** By which connections are found that have the same. */
export const hashToken = (token: string): string => hash("sha256", token);

export const openConnectionToken = (box: SecretBox, id: string, sealed: string): string =>
  box.open(sealed, contextOf(id));
