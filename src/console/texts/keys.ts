import type { Scope } from "../app/session.ts";

/** What each scope allows; the compiler finds a missing one. */
const scopes: Readonly<Record<Scope, string>> = {
  "messages:send": "Send messages and batches, and read what became of them.",
  "templates:manage": "Submit, list and delete message templates.",
  "webhooks:manage": "Read events and send them again, change the webhooks, connect and disconnect channels.",
  "marketing:read": "Read ad accounts, campaigns, ads and their figures.",
  "marketing:manage": "Create and change campaigns and ads. It does not include reading them.",
};

/** The texts of API keys. */
export const keysTexts = {
  title: "Keys",
  columns: {
    name: "Name",
    state: "State",
    scopes: "Scopes",
    created: "Created",
    used: "Last used",
    action: "Action",
  },
  /** The parts of a key by which a person recognises it. */
  excerpt: (prefix: string, last4: string) => `${prefix}…${last4}`,
  expires: "expires",
  stops: "stops working",
  commandLine: "command line",
  disabledUser: (name: string) => `${name} (disabled)`,
  neverUsed: "never",
  none: "There is no API key.",
  noneHint: "A program needs a key to use the API. Give each program one of its own.",
  shown: "The new key",
  theKey: "the key",
  uncertain:
    "A key may have been made all the same, but its text is lost. Close this and look at the list: rotate or revoke a key that is new.",

  create: {
    title: "Create a key",
    action: "Create key",
    name: "Name",
    nameHint: "The program that uses it",
    scopes: "What it allows",
    noScope: "Choose what it allows",
    expiry: "Expires",
    expiryHint: "Leave it empty for a key that does not expire.",
    note: "Send it with each request in the header x-svc-api-key.",
  },
  scopes,

  rotate: {
    action: "Rotate",
    confirm: "Rotate key",
    title: (name: string) => `Rotate the key "${name}"?`,
    consequence: "A new key with the same name, scopes and expiry takes its place.",
    noGrace: "Programs that use the former one are refused within 5 seconds.",
    grace: "Programs that use the former one have to get the new one within this time.",
    ended: "The former key no longer works.",
    worksFor: (grace: string) => `The former key works for ${grace}.`,
  },

  revoke: {
    action: "Revoke",
    confirm: "Revoke key",
    title: (name: string) => `Revoke the key "${name}"?`,
    consequence: (excerpt: string) =>
      `Programs that use ${excerpt} are refused within 5 seconds. This cannot be undone.`,
  },
};
