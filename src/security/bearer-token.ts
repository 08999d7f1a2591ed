import { isSameText } from "./same-text.ts";

/** True when the Authorization header carries this Bearer token. */
export const isBearerToken = (header: string | undefined, token: string): boolean =>
  isSameText(header ?? "", `Bearer ${token}`);
