import { GraphError } from "./graph/graph-error.ts";

/** Ids with this prefix belong to people on the photo platform. */
export const PHOTO_PERSON_PREFIX = "1784";

interface MagicValue {
  value: string;
  effect: string;
}

/** Values that cause a specific outcome without a fault, like the numbers of payment test cards. */
export const MAGIC_VALUES: readonly MagicValue[] = [
  recipient("0000", "fails with error 131026; the failure arrives as a webhook"),
  recipient("0049", "fails with error 131049; the failure arrives as a webhook"),
  recipient("0202", "is reported as read without a delivered status"),
  recipient("0429", "fails with error 130429 (rate limit) on the first attempt and succeeds afterwards"),
  recipient("0131", "fails with error 131056 (pair rate limit) on the first attempt and succeeds afterwards"),
  recipient("0500", "fails with error 131000 (unknown error) on the first attempt and succeeds afterwards"),
  recipient("0470", "is refused with error 131047: the messaging window is closed"),
  recipient(
    "0410",
    "is sent normally; the demo client's backend answers 410 to the first delivery of each event about the message, which fails the event, and accepts later deliveries of it",
  ),
  person("0001", "is refused with error 100/2018001: no such person"),
  person("0010", "is refused with error 10: the messaging window is closed"),
  person("0108", "is refused with error 10/2018108: the person does not accept messages"),
  person(
    "0429",
    "fails with error 80006 (page) or 80002 (photo account), a rate limit, on the first attempt and succeeds afterwards",
  ),
  person("0551", "is refused with error 551: the person is not available"),
  {
    value: `a page recipient beginning with \`${PHOTO_PERSON_PREFIX}\``,
    effect: "is on the photo platform: the message is sent from the page's photo account",
  },
  template("reject_", "is rejected in review"),
  template("pause_", "is approved in review, then paused"),
  template("recategorise_", "is moved to the MARKETING category in review"),
  template("instant_", "is approved immediately"),
  { value: "an ad account `act_190...`", effect: "fails every call with error 190/460 (dead token)" },
  { value: "a campaign named `throttle me`", effect: "is refused with error 80004 (rate limit)" },
  {
    value: "an ad named `disapprove...`",
    effect: "is disapproved in review; the result arrives as a webhook",
  },
  {
    value: "an ad named `fatigue...`",
    effect: "has creative fatigue after its review; a webhook reports it",
  },
  {
    value: "an object named `no delivery...`",
    effect: "has no insights; the objects in it have none either",
  },
  { value: "a report on an object with `fail report` in its name", effect: "ends as Job Failed" },
  { value: "a report on an object with `skip report` in its name", effect: "ends as Job Skipped" },
  {
    value: "a video with `unreachable` in its file_url",
    effect: "fails with error 389: the file cannot be fetched",
  },
  {
    value: "a video with `broken` in its file_url",
    effect: "never becomes ready: its processing ends with an error",
  },
];

function recipient(ending: string, effect: string): MagicValue {
  return toMagicValue("a chat recipient ending in", ending, effect);
}

function person(ending: string, effect: string): MagicValue {
  return toMagicValue("a page or photo account recipient ending in", ending, effect);
}

function template(beginning: string, effect: string): MagicValue {
  return toMagicValue("a template named", `${beginning}...`, effect);
}

function toMagicValue(prefix: string, name: string, effect: string): MagicValue {
  return { value: `${prefix} \`${name}\``, effect };
}

/** The outcome that the last four characters of a recipient's number or scoped id cause. */
interface ChatRecipientOutcome {
  /** Error of the first attempt from each number; later attempts are accepted. */
  firstTryError?: 130429 | 131000 | 131056;
  /** Error of every attempt. */
  everyTryError?: 131047;
  /** The message is accepted, and a webhook reports this failure. */
  webhookError?: 131026 | 131049;
  /** A status that is never sent. */
  skippedStatus?: "delivered";
  /** The demo client's backend refuses the first delivery of each event about the message. */
  eventsRefused?: true;
}

const CHAT_RECIPIENT_SUFFIXES: Readonly<Record<string, ChatRecipientOutcome>> = {
  "0000": { webhookError: 131026 },
  "0049": { webhookError: 131049 },
  "0131": { firstTryError: 131056 },
  "0202": { skippedStatus: "delivered" },
  "0410": { eventsRefused: true },
  "0429": { firstTryError: 130429 },
  "0470": { everyTryError: 131047 },
  "0500": { firstTryError: 131000 },
};

export const chatRecipientOutcomeOf = (recipient: string): ChatRecipientOutcome =>
  CHAT_RECIPIENT_SUFFIXES[recipient.slice(-4)] ?? {};

/** Review results by the beginning of a template's name. All other names are approved. */
const TEMPLATE_NAME_PREFIXES = {
  reject_: "rejected",
  pause_: "paused",
  recategorise_: "recategorised",
  instant_: "instant",
} as const;

type ReviewResult = (typeof TEMPLATE_NAME_PREFIXES)[keyof typeof TEMPLATE_NAME_PREFIXES] | "approved";

export const reviewResultOf = (name: string): ReviewResult =>
  Object.entries(TEMPLATE_NAME_PREFIXES).find(([prefix]) => name.startsWith(prefix))?.[1] ?? "approved";

/** The page or photo account that sends. */
interface PageSender {
  platform: "messenger" | "instagram";
  id: string;
}

interface MagicRefusal {
  code: number;
  subcode?: number;
  message: string;
  /** Only the first attempt from each account fails. */
  isFirstTryOnly?: boolean;
}

type MagicRefusals = Readonly<Record<string, MagicRefusal>>;

const OUTSIDE_WINDOW_MESSAGE = "This message is sent outside of allowed window.";

const SHARED_REFUSALS: MagicRefusals = {
  "0001": { code: 100, subcode: 2018001, message: "No matching user found" },
  "0108": { code: 10, subcode: 2018108, message: "This person isn't receiving messages from you right now." },
  "0551": { code: 551, subcode: 1545041, message: "This person isn't available right now." },
};

/** Errors by the last four digits of the id of a page's or photo account's recipient. */
const PAGE_RECIPIENT_SUFFIXES: Readonly<Record<PageSender["platform"], MagicRefusals>> = {
  messenger: {
    ...SHARED_REFUSALS,
    "0010": { code: 10, subcode: 2018278, message: OUTSIDE_WINDOW_MESSAGE },
    "0429": {
      code: 80006,
      message: "There have been too many calls to this page account.",
      isFirstTryOnly: true,
    },
  },
  instagram: {
    ...SHARED_REFUSALS,
    "0010": { code: 10, subcode: 2534022, message: OUTSIDE_WINDOW_MESSAGE },
    "0429": {
      code: 80002,
      message: "There have been too many calls to this Instagram account.",
      isFirstTryOnly: true,
    },
  },
};

/** Throws the error of a magic recipient of a page or photo account; `triedPairs` has the pairs whose first attempt has failed. */
export function throwPageRecipientRefusal(
  { platform, id }: PageSender,
  recipient: string,
  triedPairs: Set<string>,
): void {
  const refusal = PAGE_RECIPIENT_SUFFIXES[platform][recipient.slice(-4)];
  const pair = `${id} ${recipient}`;
  if (!refusal || (refusal.isFirstTryOnly && triedPairs.has(pair))) return;
  triedPairs.add(pair);
  const { code, subcode, message } = refusal;
  throw new GraphError(code, `(#${code}) ${message}`, subcode === undefined ? {} : { subcode });
}

/** Names of ad objects, and URLs of videos. */
export const isThrottled = (name: string): boolean => name === "throttle me";
export const isDisapproved = (name: string): boolean => name.startsWith("disapprove");
export const isFatigued = (name: string): boolean => name.startsWith("fatigue");
export const isUndelivered = (name: string): boolean => name.startsWith("no delivery");
export const failsReports = (name: string): boolean => name.includes("fail report");
export const skipsReports = (name: string): boolean => name.includes("skip report");
export const isUnreachable = (address: string): boolean => address.includes("unreachable");
export const isBroken = (address: string): boolean => address.includes("broken");
