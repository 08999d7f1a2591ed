import { DEMO_ASSETS } from "../schema/demo-assets.ts";
import type { Grant } from "./graph/tokens.ts";

/** The assets and tokens below are constants, so every sandbox has them and they survive a restart. */

/** The app name that the dialogs show. */
export const APP_NAME = "Herald";
export const PERSON = { id: DEMO_ASSETS.personId, name: "Sam Sandbox" };
export const BUSINESS = DEMO_ASSETS.business;

export interface AdAccount {
  /** Without `act_`. */
  id: string;
  name: string;
  account_status: number;
  currency: string;
  timezone_name: string;
  /** The hash of the image that the account's library has from the start. */
  imageHash: string;
  /** Absent for a personal account. */
  business?: { id: string; name: string };
  business_name?: string;
}

const { account_id: DEMO_ACCOUNT_ID, ...demoAccount } = DEMO_ASSETS.adAccount;

/** Copies the demo client's ad account, with `rest` overriding its fields. */
const businessAccount = (id: string, name: string, rest: Partial<AdAccount> = {}): AdAccount => ({
  ...demoAccount,
  id,
  name,
  imageHash: `abcdef0123456789${id}`,
  business: BUSINESS,
  ...rest,
});

export const AD_ACCOUNTS: readonly AdAccount[] = [
  businessAccount(DEMO_ACCOUNT_ID, demoAccount.name),
  businessAccount("1600000000000102", "Sandbox Coffee Wholesale"),
  businessAccount("1600000000000103", "Sandbox Tea", { currency: "USD", timezone_name: "America/New_York" }),
  businessAccount("1600000000000104", "Sandbox Sushi", { currency: "JPY", timezone_name: "Asia/Tokyo" }),
  personalAccount("1600000000000105", "Sam's own account"),
  businessAccount("1600000000000106", "Sandbox Closed Shop", { account_status: 101 }),
  businessAccount("1600000000000107", "Sandbox Disabled Shop", { account_status: 2 }),
  businessAccount("1600000000000108", "Sandbox Unsettled Shop", { account_status: 3 }),
  businessAccount("1900000000000109", "Sandbox Dead Token Shop"),
];

function personalAccount(id: string, name: string): AdAccount {
  const { business: _none, ...account } = businessAccount(id, name, { business_name: "Sam S." });
  return account;
}

/** True when every call to the account fails with a dead token. */
export const hasDeadToken = (accountId: string): boolean => accountId.startsWith("190");

export interface PhoneNumber {
  id: string;
  display_phone_number: string;
  verified_name: string;
  code_verification_status: "VERIFIED" | "NOT_VERIFIED";
  /** Pin of a two-step verification that is already set: registering with another pin is refused. */
  pin?: string;
}

export interface Waba {
  id: string;
  name: string;
  message_template_namespace: string;
  numbers: readonly PhoneNumber[];
}

const phoneNumber = (id: string, display: string, rest: Partial<PhoneNumber> = {}): PhoneNumber => ({
  id,
  display_phone_number: display,
  verified_name: DEMO_ASSETS.name,
  code_verification_status: "VERIFIED",
  ...rest,
});

export const WABAS: readonly Waba[] = [
  {
    id: DEMO_ASSETS.wabaId,
    name: DEMO_ASSETS.name,
    message_template_namespace: DEMO_ASSETS.templateNamespace,
    numbers: [phoneNumber(DEMO_ASSETS.phoneNumberId, DEMO_ASSETS.displayPhoneNumber)],
  },
  {
    id: "1500000000000202",
    name: "Sandbox Tea",
    message_template_namespace: "c1d1f1a2_0b7e_4f6a_9a53_7d2f5d1c9b02",
    numbers: [
      phoneNumber("1400000000000302", "+1 555-010-0302", { verified_name: "Sandbox Tea" }),
      phoneNumber("1400000000000303", "+1 555-010-0303", {
        verified_name: "Sandbox Tea Support",
        pin: "135790",
      }),
      phoneNumber("1400000000000304", "+1 555-010-0304", {
        verified_name: "Sandbox Tea New",
        code_verification_status: "NOT_VERIFIED",
      }),
    ],
  },
];

export interface SocialPage {
  id: string;
  name: string;
  instagram?: { id: string; username: string };
}

export const PAGES: readonly SocialPage[] = [
  {
    id: DEMO_ASSETS.pageId,
    name: DEMO_ASSETS.name,
    instagram: { id: DEMO_ASSETS.photoappUserId, username: "sandbox.coffee" },
  },
  {
    id: "1300000000000402",
    name: "Sandbox Tea",
    instagram: { id: "1200000000000502", username: "sandbox.tea" },
  },
  { id: "1300000000000403", name: "Sandbox Sushi" },
];

export interface Lead {
  id: string;
  page_id: string;
  form_id: string;
  ad_id: string;
  /** Unix seconds. */
  created: number;
  field_data: readonly { name: string; values: readonly string[] }[];
}

/** A person's answers to a lead form. The ids are too long for a double, like the platform's. */
export const LEADS: readonly Lead[] = [
  {
    id: "120200000000000701",
    page_id: PAGES[0]?.id ?? "",
    form_id: "120200000000000702",
    ad_id: "120200000000000703",
    created: 1_790_000_000,
    field_data: [
      { name: "full_name", values: ["Ana Souza"] },
      { name: "email", values: ["ana@example.com"] },
      { name: "phone_number", values: ["+5511999998888"] },
    ],
  },
];

const AD_SCOPES = ["ads_management", "ads_read", "business_management"] as const;
export const CHAT_SCOPES = [
  "whatsapp_business_management",
  "whatsapp_business_messaging",
  "business_management",
] as const;
export const PAGE_SCOPES = [
  "pages_show_list",
  "pages_messaging",
  "pages_manage_metadata",
  "instagram_basic",
  "instagram_manage_messages",
] as const;

const permanentGrant = (
  kind: Grant["kind"],
  scopes: readonly string[],
  assets: readonly string[],
): Grant => ({
  kind,
  user: PERSON.id,
  scopes,
  declined: [],
  assets,
  issued: 1_790_000_000,
  expires: 0,
});

/** Tokens of the demo client's connections. They are valid before any dialog is completed. */
export const BUILT_IN_TOKENS: Readonly<Record<string, Grant>> = {
  [DEMO_ASSETS.adToken]: permanentGrant("user", AD_SCOPES, [DEMO_ACCOUNT_ID]),
  [DEMO_ASSETS.chatToken]: permanentGrant("business", CHAT_SCOPES, [WABAS[0]?.id ?? ""]),
  [DEMO_ASSETS.pageToken]: permanentGrant("page", [...PAGE_SCOPES, "leads_retrieval"], [PAGES[0]?.id ?? ""]),
};
