import type { AdAccountDto, MarketingTermsStatusDto } from "../../../sdk/src/generated/types.ts";

const count = (number: number) => `${number} ad ${number === 1 ? "account" : "accounts"}`;

/** The texts of ad accounts and of the terms. */
export const adsTexts = {
  title: "Ads",
  accounts: "Ad accounts",
  columns: {
    name: "Name",
    id: "Id",
    status: "Status",
    platform: "Platform",
    currency: "Currency",
    expires: "Access ends",
    action: "Action",
  },
  search: "Name or id",
  statuses: {
    available: "not in use",
    active: "active",
    disabled: "disabled",
    revoked: "no access",
  } satisfies Record<AdAccountDto["status"], string>,
  platformStatuses: {
    active: "active",
    disabled: "disabled",
    unsettled: "unsettled",
    pending_risk_review: "in risk review",
    pending_settlement: "pending settlement",
    in_grace_period: "in grace period",
    pending_closure: "pending closure",
    closed: "closed",
    unknown: "unknown",
  } satisfies Record<AdAccountDto["account_status_label"], string>,
  never: "never",
  none: "No ad account is connected yet.",
  noneMatch: "No ad account matches the filters.",
  noneHint: "A person who manages the account at the ad platform signs in there and grants access.",
  connect: "Connect ad accounts",
  reconnect: "Connect again",
  revokedHint: "rejects the access that was granted",
  activate: "Activate",
  activated: (name: string) => `${name} is active.`,
  accessLost: (name: string) => `${name} is not active: the platform rejects the access to it.`,
  refresh: "Refresh",
  refreshed: (name: string) => `${name} was read again from the platform.`,
  disable: {
    action: "Disable",
    title: (name: string) => `Disable ${name}?`,
    consequence:
      "Herald no longer works with the account: requests for its campaigns, ads and insights are refused until it is active again. Ads that run at the platform go on running.",
    done: (name: string) => `${name} is disabled.`,
  },

  terms: {
    title: "Terms",
    needed: "The terms of advertising are not accepted. Nothing can be connected or changed until they are.",
    renewed: "New terms are in force. Nothing can be connected or changed until they are accepted.",
    read: "Read and accept the terms",
    show: "Read the terms",
    version: "Version",
    accepted: "Accepted",
    acceptedBy: "Accepted by",
    notAccepted: "not accepted",
    person: ({ name, email }: NonNullable<MarketingTermsStatusDto["accepted_by"]>) =>
      email === null ? name : `${name} (${email})`,
    consent: (client: string) => `I have read these terms and accept them for ${client}.`,
    action: "Accept the terms",
    done: "The terms are accepted.",
    next: "Go to the ad accounts",
    onlyManagers: "An owner or administrator of your company can accept them.",
    recorded: "Herald records who accepted which text, when, and from which address.",
  },

  login: {
    title: "Connect ad accounts",
    running: "Connecting the ad accounts",
    done: (accounts: number) => `${count(accounts)} connected.`,
    next: "Activate the accounts that Herald should work with.",
    noAccounts: "No ad account was granted. Connect again, and choose at least one at the ad platform.",
    denied: "Nothing was connected: the ad platform's login ended without consent.",
    reason: "Reason",
    notBegun: "There is no login to complete. It may be completed already.",
    otherBrowser: "This login was completed already, or was not begun in this browser.",
    failed: "Nothing was connected.",
    all: "All ad accounts",
  },
};
