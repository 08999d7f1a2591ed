import type { AdAccountDto } from "../../../sdk/src/generated/types.ts";

const DAY_MS = 86_400_000;
const WARNING_MS = 14 * DAY_MS;

/** True when the access to an account ends so soon that a person should connect it again. */
export const endsSoon = (
  { token_expires_at: at }: Pick<AdAccountDto, "token_expires_at">,
  now: number,
): boolean => at !== null && Date.parse(at) - now < WARNING_MS;
