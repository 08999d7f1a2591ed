import { describeEndpoint } from "../../delivery/webhook-address.ts";
import { EVENT_KEYS, type Scope, SETUP_STEPS, type SetupStep } from "../../schema/enumerations.ts";
import { toTimestamp } from "../../schema/times.ts";
import type { Database, Queryable } from "../../store/database/database.ts";
import {
  findLatestAttempt,
  findNewestMessages,
  hasDeliveredEvent,
  readStatuses,
  withIndexScans,
} from "../../store/setup/setup.ts";
import { readAcceptance } from "../../store/tenants/terms.ts";
import { findWebhookConfig, type WebhookConfigRow } from "../../store/tenants/webhook-configs.ts";

/** The sentences of a step in one state. A word in braces is replaced by the value of that name. */
interface StateTexts {
  detail: string;
  /** The detail for callers without the scope of the step; by default the same. */
  publicDetail?: string;
  /** Null when the step is done. */
  nextStep: string | null;
}

interface StepTexts {
  /** The guide's name and its heading. */
  guide: string;
  /** Callers without it see no values. */
  scope?: Scope;
  states: Readonly<Record<string, StateTexts>>;
}

const STEPS = {
  webhook_address: {
    guide: "receiving#set-the-address",
    scope: "webhooks:manage",
    states: {
      missing: {
        detail: "The address is not set.",
        nextStep: "Set webhook_url with PATCH /api/webhooks/config.",
      },
      untried: {
        detail: "The address {address} is set, but no event was sent to it yet.",
        publicDetail: "The address is set, but no event was sent to it yet.",
        nextStep: "Send a test event with POST /api/webhooks/test.",
      },
      failed: {
        detail: "The address {address} is set, but the latest attempt at {at} failed: {error}.",
        publicDetail: "The address is set, but the latest attempt failed.",
        nextStep: "Correct the address or the backend, then send a test event with POST /api/webhooks/test.",
      },
      answered: {
        detail: "The address {address} is set and answered the latest attempt at {at} with HTTP {status}.",
        publicDetail: "The address is set and answered the latest attempt.",
        nextStep: null,
      },
    },
  },
  webhook_secret: {
    guide: "receiving#verify-signatures",
    states: {
      missing: {
        detail: "The secret is not set, so events are not signed.",
        nextStep: "Generate a secret with POST /api/webhooks/config/generate-secret.",
      },
      set: { detail: "The secret is set, and events are signed with it.", nextStep: null },
    },
  },
  channel: {
    guide: "channels#connect-a-channel",
    states: {
      missing: {
        detail: "No channel is connected.",
        nextStep: "Create a signup page with POST /api/embed/sessions and connect a channel on it.",
      },
      needs_reauth: {
        detail: "No channel is connected, because the platform no longer accepts the token of a channel.",
        nextStep: "Connect the channel again on a signup page, which POST /api/embed/sessions creates.",
      },
      connected: { detail: "A channel is connected.", nextStep: null },
    },
  },
  message: {
    guide: "sending#send-messages",
    scope: "messages:send",
    states: {
      missing: {
        detail: "No message was sent yet.",
        nextStep: "Send a message with POST /api/outbound/send.",
      },
      waiting: {
        detail: "No message was accepted by its platform yet, and {message_id} is still in progress.",
        publicDetail: "No message was accepted by its platform yet, and one is still in progress.",
        nextStep: "Read what became of it with GET /api/outbound/messages/{message_id}.",
      },
      failed: {
        detail: "No message was accepted by its platform, and the newest failed one is {message_id}.",
        publicDetail: "No message was accepted by its platform, and at least one failed.",
        nextStep: "Read why it failed with GET /api/outbound/messages/{message_id}/explanation.",
      },
      accepted: { detail: "A message was accepted by its platform.", nextStep: null },
    },
  },
  event: {
    guide: "receiving#answers-and-retries",
    states: {
      missing: {
        detail: "No event other than test events was delivered.",
        nextStep: "Write to a connected channel as a person, then look at GET /api/webhooks/events.",
      },
      delivered: { detail: "An event was delivered to the backend.", nextStep: null },
    },
  },
  terms: {
    guide: "ad-accounts#accept-the-terms",
    scope: "marketing:read",
    states: {
      missing: {
        detail: "Version {version} of the terms is in force and not accepted.",
        publicDetail: "The terms in force are not accepted.",
        nextStep: "Let an owner or admin accept the terms with POST /api/marketing/terms/accept.",
      },
      accepted: {
        detail: "Version {version} of the terms is in force and accepted.",
        publicDetail: "The terms in force are accepted.",
        nextStep: null,
      },
    },
  },
  ad_account: {
    guide: "ad-accounts#connect",
    states: {
      missing: {
        detail: "No ad account is connected.",
        nextStep: "Connect ad accounts at the address that GET /api/marketing/oauth/url returns.",
      },
      revoked: {
        detail: "No ad account is active, because the platform no longer accepts the token.",
        nextStep: "Connect the ad accounts again at the address that GET /api/marketing/oauth/url returns.",
      },
      inactive: {
        detail: "An ad account is connected, but none is active.",
        nextStep: "Activate an ad account with PATCH /api/marketing/ad-accounts/{id}.",
      },
      active: { detail: "An ad account is active.", nextStep: null },
    },
  },
} as const satisfies Readonly<Record<SetupStep, StepTexts>>;

type Values = Readonly<Record<string, string>>;

/** The state of a step, and the values of its sentences. */
interface Finding<S extends SetupStep> {
  state: keyof (typeof STEPS)[S]["states"];
  values?: Values;
}

type Findings = { [S in SetupStep]: Finding<S> };

interface SetupStepDto {
  step: SetupStep;
  done: boolean;
  detail: string;
  next_step: string | null;
  documentation: string;
}

/** Reads what is stored; calls neither the backend nor a platform. Values are shown as far as the scopes allow. */
export const readSetup = (
  db: Database,
  clientId: string,
  scopes: ReadonlySet<Scope>,
): Promise<SetupStepDto[]> =>
  withIndexScans(db, async (tx) => {
    const config = await findWebhookConfig(tx, clientId);
    const findings: Findings = {
      webhook_address: await findAddress(tx, config),
      webhook_secret: { state: config.secret_sealed === null ? "missing" : "set" },
      channel: { state: channelState(await readStatuses(tx, clientId, "channels")) },
      message: messageFinding(await findNewestMessages(tx, clientId)),
      event: { state: (await hasDeliveredEvent(tx, clientId)) ? "delivered" : "missing" },
      terms: await findTerms(tx, clientId),
      ad_account: { state: adAccountState(await readStatuses(tx, clientId, "ad_accounts")) },
    };
    return SETUP_STEPS.map((step) => toDto(step, findings[step], scopes));
  });

async function findAddress(
  tx: Queryable,
  { client_id, webhook_url: address }: WebhookConfigRow,
): Promise<Finding<"webhook_address">> {
  if (address === null) return { state: "missing" };
  const attempt = await findLatestAttempt(tx, client_id, addressesBelow(address));
  if (!attempt) return { state: "untried", values: { address } };
  const { error, status_code } = attempt;
  const values = { address, at: toTimestamp(attempt.at) };
  return error === null
    ? { state: "answered", values: { ...values, status: String(status_code) } }
    : { state: "failed", values: { ...values, error } };
}

/** The address itself, for tests without a key, and those of all events. */
const addressesBelow = (address: string): string[] => [
  address,
  ...EVENT_KEYS.flatMap((key) => {
    const { url, routes } = describeEndpoint(address, key);
    return [url, ...routes.map((route) => route.url)].filter((found) => found !== null);
  }),
];

function channelState(statuses: ReadonlySet<string>): Finding<"channel">["state"] {
  if (statuses.has("connected")) return "connected";
  return statuses.has("needs_reauth") ? "needs_reauth" : "missing";
}

/** The statuses of a message that its platform has accepted. */
const ACCEPTED_STATUSES = ["accepted", "sent", "delivered", "read"];

function messageFinding(newest: ReadonlyMap<string, string>): Finding<"message"> {
  if (ACCEPTED_STATUSES.some((status) => newest.has(status))) return { state: "accepted" };
  const failed = newest.get("failed");
  if (failed !== undefined) return { state: "failed", values: { message_id: failed } };
  const waiting = newest.get("queued") ?? newest.get("unknown") ?? newest.get("scheduled");
  return waiting === undefined ? { state: "missing" } : { state: "waiting", values: { message_id: waiting } };
}

async function findTerms(tx: Queryable, clientId: string): Promise<Finding<"terms">> {
  const { version, accepted } = await readAcceptance(tx, clientId);
  return { state: accepted ? "accepted" : "missing", values: { version } };
}

function adAccountState(statuses: ReadonlySet<string>): Finding<"ad_account">["state"] {
  if (statuses.has("active")) return "active";
  if (statuses.has("available") || statuses.has("disabled")) return "inactive";
  return statuses.has("revoked") ? "revoked" : "missing";
}

function toDto(
  step: SetupStep,
  { state, values = {} }: { state: string; values?: Values },
  scopes: ReadonlySet<Scope>,
): SetupStepDto {
  const { guide, scope, states }: StepTexts = STEPS[step];
  const { detail, publicDetail = detail, nextStep } = states[state] as StateTexts;
  const isVisible = scope === undefined || scopes.has(scope);
  const fill = (text: string) => (isVisible ? fillIn(text, values) : text);
  return {
    step,
    done: nextStep === null,
    detail: fill(isVisible ? detail : publicDetail),
    next_step: nextStep && fill(nextStep),
    documentation: `/docs/guides/${guide}`,
  };
}

/** A name without a value stays, like the parameter of a path. One pass: a value may contain braces. */
const fillIn = (text: string, values: Values): string =>
  text.replaceAll(/\{([a-z_]+)\}/g, (whole, name: string) => values[name] ?? whole);
