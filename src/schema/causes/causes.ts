import { CAUSE_SECTIONS, type CauseCode, type CauseDefinition, defineCauses } from "./cause-definition.ts";
import { PLATFORM_REFUSALS } from "./platform-refusals.ts";

/** Why a message is as it is: every cause, once. */

const NO_ACTION = "No action is needed.";

const PROGRESS = { section: "progress", whoActs: "nobody", nextStep: NO_ACTION } as const;

const REACHED = defineCauses(
  { ...PROGRESS, verdict: "ok" },
  {
    accepted: {
      summary: "The platform has accepted the message and has not reported yet that it was sent.",
      nextStep: "Wait for the platform's report, which arrives as an event message.status.",
    },
    sent: {
      summary: "The message was sent, and the platform has not reported its arrival yet.",
      nextStep: "No action is needed: a device that is off or offline receives the message later.",
    },
    delivered: { summary: "The message has arrived on the recipient's device." },
    read: { summary: "The recipient has read the message." },
    cancelled: { summary: "The message was cancelled before it was sent, alone or with its batch." },
  },
);

const WAITING = defineCauses(
  { ...PROGRESS, verdict: "waiting" },
  {
    scheduled: {
      summary: "The message is scheduled, and its time has not come yet.",
      nextStep: "No action is needed: the message is sent at `until`.",
    },
    queued: {
      summary: "The message is due and waits for a free dispatcher.",
      nextStep:
        "No action is needed. If it takes longer than a minute, ask the operator whether a dispatcher is running.",
    },
    sending: { summary: "The message is being sent to the platform." },
    order: {
      summary: "An earlier message to the same recipient is sent first.",
      nextStep: "No action is needed: this message follows when the earlier one is sent or has failed.",
    },
    rate: {
      summary: "The channel sends at its highest rate, or the platform has asked for a pause.",
      nextStep: "No action is needed: the message is sent in its turn.",
    },
    retry: {
      summary: "The last attempt failed for a temporary reason, and Herald tries again.",
      nextStep: "No action is needed: `until` says when the next attempt follows at the latest.",
    },
    channel_needs_reauth: {
      summary:
        "The platform no longer accepts the channel's access token, so the message waits until the channel is connected again.",
      whoActs: "you",
      nextStep: "Connect the channel again before `until`; its messages are sent then.",
    },
    batch_paused: {
      summary: "The batch of the message is paused.",
      whoActs: "you",
      nextStep:
        "Read `pause_reason` with GET /api/outbound/batches/{batch_id}. Connect the channel again, or correct the template or the cause of the failures, if that is the reason; then resume the batch with POST /api/outbound/batches/{batch_id}/resume, or cancel it.",
    },
    hold: {
      summary: "The operator has stopped all sending for the moment.",
      whoActs: "operator",
      nextStep: "Ask the operator when sending goes on; the message is sent then.",
    },
  },
);

/** The cause of a message whose outcome the platform may still report. */
export const AWAITED_OUTCOME: CauseDefinition = {
  verdict: "unknown",
  section: "progress",
  summary: "The message may have been sent: no readable answer came from the platform.",
  whoActs: "platform",
  nextStep:
    "Wait until `until` for the platform's report, and do not send the message again before: the person might get it twice.",
};

/** Causes of failed messages that have a code of Herald in `error`. */
const HERALD = defineCauses(
  { section: "herald", verdict: "failed" },
  {
    expired: {
      codes: ["expired"],
      summary: "The message could not be sent within 24 hours.",
      whoActs: "you",
      nextStep: "Send the message again if it is still wanted; its timeline lists the attempts.",
    },
    channel_disconnected: {
      codes: ["channel_disconnected"],
      summary: "The channel was disconnected, or not connected again in time; the message was not sent.",
      whoActs: "you",
      nextStep: "Connect the channel, and send the message again.",
    },
    outcome_unknown: {
      codes: ["outcome_unknown"],
      summary: "The message may have been sent, but the platform did not report on it in time.",
      whoActs: "you",
      nextStep: "Find out whether the person has the message before you send it again.",
    },
    send_quarantined: {
      codes: ["quarantined"],
      summary: "Five Herald processes stopped unexpectedly before they sent the message; it was not sent.",
      whoActs: "operator",
      nextStep: "Tell the operator the id of the message; send it again when the reason is found.",
    },
    discarded: {
      codes: ["discarded"],
      summary: "The operator of the service discarded the message while it was queued; it was not sent.",
      whoActs: "you",
      nextStep: "Send the message again if it is still wanted; the operator knows why it was discarded.",
    },
    internal_error: {
      codes: ["internal"],
      summary: "Herald could not build the request to the platform; the message was not sent.",
      whoActs: "operator",
      nextStep: "Tell the operator the id of the message.",
    },
  },
);

/** Reasons of a message that is ok, and whose events your backend has not got. */
const BACKEND = defineCauses(
  { section: "backend", whoActs: "you" },
  {
    backend_unavailable: {
      verdict: "waiting",
      summary:
        "Nothing is left to send, but your backend failed repeatedly and gets no events at the moment.",
      nextStep:
        "Make your backend answer with a 2xx status. Herald tests it at `until` and then delivers what waits.",
    },
    backend_retry: {
      verdict: "waiting",
      summary: "Nothing is left to send, but your backend has not accepted an event about it yet.",
      nextStep:
        "Make your backend answer with a 2xx status; GET /api/webhooks/events?message_id= shows what it answered.",
    },
    delivery_failed: {
      verdict: "failed",
      summary:
        "Nothing is left to send, but an event about it could not be delivered to your backend and is no longer tried.",
      nextStep:
        "Correct your backend, find the event with GET /api/webhooks/events?message_id=, and send it again with POST /api/webhooks/events/{id}/retry.",
    },
    quarantined: {
      verdict: "failed",
      summary:
        "Nothing is left to send, but Herald no longer delivers an event about it, because Herald's processes stopped during five attempts.",
      nextStep:
        "Tell the operator, find the event with GET /api/webhooks/events?message_id=, and send it again with POST /api/webhooks/events/{id}/retry.",
    },
  },
);

const PLATFORM_ERROR: CauseDefinition = {
  verdict: "failed",
  section: "platform",
  summary: "The platform refused the message with a code that Herald does not know.",
  whoActs: "you",
  nextStep: "Look the code of `platform_error` up in the platform's documentation.",
};

/** The definition of platform_error for a failure that the platform reported without an error. */
export const NO_REASON: CauseDefinition = {
  verdict: "failed",
  section: "platform",
  summary: "The platform reported that the message failed, and gave no reason.",
  whoActs: "platform",
  nextStep: "Send the message again if it is still wanted. If it happens again, ask the platform's support.",
};

/** Every cause with its definition. */
export const CAUSES = {
  ...REACHED,
  ...WAITING,
  ...HERALD,
  ...PLATFORM_REFUSALS,
  platform_error: PLATFORM_ERROR,
  ...BACKEND,
} as const satisfies Record<string, CauseDefinition>;

export type Cause = keyof typeof CAUSES;
export const CAUSE_NAMES = Object.keys(CAUSES) as Cause[];

/** The path of the section that describes a cause, as this service serves it. */
export const causeDocumentation = ({ section }: CauseDefinition): string =>
  `/docs/guides/errors#${CAUSE_SECTIONS[section].toLowerCase().replaceAll(" ", "-")}`;

const CODES = CAUSE_NAMES.flatMap((cause) => {
  const { codes = [] }: CauseDefinition = CAUSES[cause];
  return codes.map((code) => ({ cause, code }));
});

const isRange = (code: CauseCode): code is readonly [number, number] => typeof code === "object";

const CAUSE_BY_CODE = new Map(
  CODES.flatMap(({ cause, code }) => (isRange(code) ? [] : [[String(code), cause] as const])),
);

const RANGES = CODES.flatMap(({ cause, code }) =>
  isRange(code) ? [{ cause, from: code[0], to: code[1] }] : [],
);

/** The code of a message's error with its subcode, as it is stored and counted. */
export function errorCodeOf({
  code,
  subcode,
}: {
  code: number | string;
  subcode?: number | undefined;
}): string {
  const text = subcode === undefined ? String(code) : `${code}/${subcode}`;
  return /^[\x21-\x7e]{1,64}$/.test(text) ? text : UNKNOWN_CODE; // platforms may send any text
}

/** Stored for an error without a usable code. */
const UNKNOWN_CODE = "unknown";

/** The cause of a failed message, by the code of errorCodeOf; null when the failure was reported without an error. */
export function causeOfCode(errorCode: string | null): Cause {
  const [code = ""] = errorCode?.split("/") ?? [];
  const known = CAUSE_BY_CODE.get(errorCode ?? "") ?? CAUSE_BY_CODE.get(code);
  if (known) return known;
  const number = /^\d+$/.test(code) ? Number(code) : Number.NaN;
  return RANGES.find(({ from, to }) => from <= number && number <= to)?.cause ?? "platform_error";
}

/** Herald's own codes in the `error` of a message. A platform's error has the platform's number instead. */
export const MESSAGE_ERROR_CODES = [
  "expired",
  "channel_disconnected",
  "outcome_unknown",
  "quarantined",
  "discarded",
  "internal",
] as const;

export type MessageErrorCode = (typeof MESSAGE_ERROR_CODES)[number];

/** Herald's own codes, each with its meaning. */
export const MESSAGE_ERRORS = Object.fromEntries(
  MESSAGE_ERROR_CODES.map((code) => [code, CAUSES[causeOfCode(code)].summary.replace(/\.$/, "")]),
) as Record<MessageErrorCode, string>;
