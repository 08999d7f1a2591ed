import type { BatchDto, SetupStepDto } from "../../../sdk/src/generated/types.ts";

const counted = (number: number, one: string, many: string): string =>
  `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

const events = (number: number) => counted(number, "event", "events");

const PAUSE_REASONS: Readonly<Record<NonNullable<BatchDto["pause_reason"]>, string>> = {
  requested: "on request",
  channel: "because its channel is not connected",
  template: "because the platform no longer sends its template",
  failures: "because most of its messages failed",
};

/** The texts of the overview. */
export const overviewTexts = {
  title: "Overview",
  periods: { label: "Period", "24h": "24 hours", "7d": "7 days", "30d": "30 days" },
  last7Days: "Last 7 days, by UTC day",
  last30Days: "Last 30 days, by UTC day",

  figures: {
    noShare: "no outcome yet",
    acceptedMessages: "accepted",
    recordedEvents: "recorded",
    sent: "sent",
    delivered: "delivered",
    oldest: "oldest waiting",
    nothingWaits: "nothing waits",
  },

  attention: {
    title: (number: number) => `Needs attention (${number})`,
    nothing: {
      delivered: "Nothing needs your attention: everything is delivered.",
      waiting: (number: number) => `Nothing needs your attention. ${events(number)} on the way.`,
      other: "Nothing needs your attention.",
      lastEvent: "Last event",
    },
    incomplete: "Not everything could be checked.",
    held: "The operator of Herald has stopped all sending and all deliveries for the moment.",
    backendStopped: (host: string, error: string, waiting: number) =>
      `Your backend ${host} fails repeatedly${error}. ${events(waiting)} wait${waiting === 1 ? "s" : ""}.`,
    backendFails: (error: string, waiting: number) =>
      `Your backend did not accept an event${error}. ${events(waiting)} wait${waiting === 1 ? "s" : ""}.`,
    error: (error: string) => ` (${error})`,
    nextProbe: "next attempt",
    since: "since",
    failedMessages: (number: number, channel: string, summary: string) =>
      `${counted(number, "message", "messages")} of ${channel} failed. ${summary}`,
    failedEvents: (number: number, summary: string) =>
      `${events(number)} ${number === 1 ? "was" : "were"} not delivered. ${summary}`,
    otherFailures: {
      message: (number: number) => `${counted(number, "message", "messages")} failed for other reasons.`,
      delivery: (number: number) => `${events(number)} could not be delivered for other reasons.`,
    },
    channel: (name: string) =>
      `${name} has to be connected again: the platform no longer accepts its access.`,
    expires: (names: string) => `The access to ${names} ends`,
    revoked: (names: string) => `The ad platform no longer accepts the access to ${names}.`,
    accounts: (first: string, others: number) =>
      others === 0 ? first : `${first} and ${counted(others, "other ad account", "other ad accounts")}`,
    terms: (version: string) => `New terms of advertising are in force (version ${version}).`,
    termsNeeded: (version: string) => `The terms of advertising (version ${version}) are not accepted.`,
    batch: (name: string, reason: BatchDto["pause_reason"]) =>
      `The batch ${name} is paused${reason === null ? "" : ` ${PAUSE_REASONS[reason]}`}.`,
    batches: (number: number) => `${number} batches are paused.`,
    see: {
      sample: "Newest",
      events: "See events",
      messages: "See messages",
      batch: "See batch",
      batches: "See batches",
      accounts: "See ad accounts",
      terms: "Read the terms",
    },
  },

  setup: {
    title: "Set up",
    done: (done: number, all: number) => `${done} of ${all} done`,
    messaging: "Send messages and receive events",
    ads: "Run ads",
    isDone: "done",
    isOpen: "to do",
    guide: "Guide",
    steps: {
      webhook_address: { title: "Address of your backend", next: "Set and test the address" },
      webhook_secret: { title: "Secret that signs events", next: "Generate a secret" },
      channel: { title: "Channel", next: "Connect a channel" },
      message: { title: "First message", next: "Send a test message" },
      event: { title: "First event", next: "Look at the events" },
      terms: { title: "Terms of advertising", next: "Read the terms" },
      ad_account: { title: "Ad account", next: "Connect an ad account" },
    } satisfies Record<SetupStepDto["step"], { title: string; next: string }>,
  },

  signup: {
    reconnect: "Reconnect",
    title: "Signup page",
    text: "On this page a person who manages the channel at the platform signs in there and connects it. Open it, or send the link to that person.",
    validUntil: "The link ends",
    open: "Open the signup page",
    copy: "Copy the link",
    link: "the link",
  },
};
