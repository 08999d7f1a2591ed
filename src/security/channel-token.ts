import { type SecretBox, sealedContext } from "./secret-box.ts";

const contextOf = (id: string) => sealedContext({ table: "channels", column: "token_sealed", id });

/** Seals a channel's token for storage. */
export const sealChannelToken = (box: SecretBox, id: string, token: string): string =>
  box.seal(token, contextOf(id));

export const openChannelToken = (box: SecretBox, id: string, sealed: string): string =>
  box.open(sealed, contextOf(id));
