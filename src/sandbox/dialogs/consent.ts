import { AD_ACCOUNTS, hasDeadToken, PAGES, WABAS } from "../built-in-assets.ts";
import type { Grant } from "../graph/tokens.ts";

/** An asset that the person can grant to the app. */
export interface Choice {
  id: string;
  name: string;
  details: string;
  /** Ticked when the page opens. */
  checked: boolean;
}

/** A validated request for consent. */
export interface Consent {
  /** The kind of token that the code gives. */
  kind: Extract<Grant["kind"], "user" | "business">;
  title: string;
  permissions: readonly string[];
  canDeclinePermissions: boolean;
  choices: readonly Choice[];
  /** Heading of the choices. */
  choicesLabel: string;
  /** Name of the asset of which at least one must be chosen; undefined when none is required. */
  requiredChoice: string | undefined;
  /** Values that the app prefilled, and other remarks. */
  notes: readonly string[];
  redirectUri: string;
  state: string | undefined;
  /** The request's parameters, which the form sends back unchanged. */
  hidden: ReadonlyMap<string, string>;
}

/** The form's fields apart from the dialog's parameters. */
export interface Decision {
  action: string | undefined;
  permissions: readonly string[];
  assets: readonly string[];
  expired: readonly string[];
}

/** A request for which the platform would not show a dialog. */
export class DialogError extends Error {
  override name = "DialogError";
}

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

/** All permissions that an app can request, with the text that the dialog shows. */
export const PERMISSIONS: Readonly<Record<string, string>> = {
  public_profile: "See your name",
  email: "See your email address",
  ads_management: "Create and change campaigns, ad sets and ads",
  ads_read: "Read ads and their results",
  business_management: "See which business an asset belongs to",
  whatsapp_business_management: "Manage chat accounts, numbers and templates",
  whatsapp_business_messaging: "Send and receive chat messages",
  pages_show_list: "See the list of your pages",
  pages_messaging: "Send and receive messages of your pages",
  pages_manage_metadata: "Receive notifications about your pages",
  pages_read_engagement: "Read the posts on your pages",
  instagram_basic: "See the photo accounts of your pages",
  instagram_manage_messages: "Send and receive messages of your photo accounts",
  instagram_manage_comments: "Read and answer comments on your photo accounts",
  leads_retrieval: "Read the answers to your lead forms",
};
