import { AD_ACCOUNTS, hasDeadToken, PAGES, WABAS } from "../built-in-assets.ts";
import type { Choice } from "./consent.ts";

export const adAccountChoices: readonly Choice[] = AD_ACCOUNTS.map(({ id, name, currency, business }) => ({
  id,
  name,
  details: `act_${id}, ${currency}, ${business?.name ?? "personal"}`,
  // Not preselected: after the first call to such an account the service would treat the whole grant's token
  // as dead.
  checked: !hasDeadToken(id),
}));

export const chatChoices: readonly Choice[] = WABAS.map(({ id, name, numbers }, index) => ({
  id,
  name,
  details: numbers.map((number) => `${number.display_phone_number} (${number.verified_name})`).join(", "),
  checked: index === 0,
}));

export const pageChoices: readonly Choice[] = PAGES.map(({ id, name, instagram }, index) => ({
  id,
  name,
  details: instagram ? `photo account @${instagram.username}` : "no photo account",
  checked: index === 0,
}));
