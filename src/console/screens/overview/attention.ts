import type {
  AdAccountDto,
  BatchDto,
  ChannelDto,
  FailureGroupDto,
} from "../../../../sdk/src/generated/types.ts";
import type { Query } from "../../app/router.ts";
import { overviewTexts } from "../../texts/overview.ts";
import { endsSoon } from "../ad-access.ts";
import type { Findings } from "./findings.ts";

const words = overviewTexts.attention;

/** Something that a person should look at. */
export interface Attention {
  id: string;
  tone: "bad" | "waiting";
  text: string;
  /** A time that belongs to the text, with a word before it. */
  time?: { word?: string; at: string };
  /** The list that has the details. */
  link?: { label: string; path: string; query?: Query };
  /** The newest of several, which shows their cause. */
  sample?: string;
  /** A channel to connect again. */
  channel?: ChannelDto;
}

/** How the findings name a channel. */
type NameOf = (channelId: string) => string;

/** Everything that needs attention, the most urgent first. */
export const findAttention = (findings: Findings, nameOf: NameOf, now: number): Attention[] => [
  ...findHold(findings),
  ...findBackend(findings),
  ...findChannels(findings, nameOf),
  ...findAdAccess(findings, now),
  ...findTerms(findings),
  ...findBatches(findings),
  ...findFailures(findings, nameOf),
];

const findHold = ({ queue }: Findings): Attention[] =>
  queue?.held ? [{ id: "hold", tone: "waiting", text: words.held }] : [];

/** The number of events that wait for the backend. */
export const countWaiting = ({ queue }: Findings): number =>
  queue?.data.reduce((sum, { waiting }) => sum + waiting, 0) ?? 0;

/** All keys of a client share one backend, and so one breaker. */
function findBackend(findings: Findings): Attention[] {
  const { queue, oldestWaiting } = findings;
  const waiting = countWaiting(findings);
  const link = { label: words.see.events, path: "/console/events", query: { status: "pending" } };
  const error = oldestWaiting?.last_error ? words.error(oldestWaiting.last_error) : "";
  const stopped = queue?.data.find(({ breaker }) => breaker !== "closed");
  if (stopped) {
    const text = words.backendStopped(hostOf(stopped.origin), error, waiting);
    const { next_probe_at: at } = stopped;
    const time = at === null ? {} : { time: { word: words.nextProbe, at } };
    return [{ id: "backend", tone: "bad", text, ...time, link }];
  }
  if (!oldestWaiting || oldestWaiting.attempts === 0) return [];
  const time = { word: words.since, at: oldestWaiting.recorded_at };
  return [{ id: "backend", tone: "waiting", text: words.backendFails(error, waiting), time, link }];
}

const hostOf = (origin: string | null): string => (origin === null ? "" : new URL(origin).host);

const findChannels = ({ channels = [] }: Findings, nameOf: NameOf): Attention[] =>
  channels.map((channel) => ({
    id: channel.channel_id,
    tone: "bad",
    text: words.channel(nameOf(channel.channel_id)),
    link: {
      label: words.see.messages,
      path: "/console/messages",
      query: { status: "queued", channel_id: channel.channel_id },
    },
    channel,
  }));

const DAY_MS = 86_400_000;

/** Accounts that were revoked longer ago are taken for given up: they cannot be removed. */
const REVOKED_MS = 30 * DAY_MS;

/** Accounts of one grant share its token. */
function findAdAccess({ adAccounts = [] }: Findings, now: number): Attention[] {
  const expiring = adAccounts
    .filter((account) => account.status === "active" && endsSoon(account, now))
    .sort((one, other) => String(one.token_expires_at).localeCompare(String(other.token_expires_at)));
  const revoked = adAccounts.filter(
    ({ status, last_synced_at }) => status === "revoked" && now - Date.parse(last_synced_at) < REVOKED_MS,
  );
  const linkTo = (status: string) => ({
    label: words.see.accounts,
    path: "/console/ads",
    query: { status },
  });
  const [first] = expiring;
  return [
    ...(revoked.length > 0
      ? [
          {
            id: "revoked",
            tone: "bad",
            text: words.revoked(namesOf(revoked)),
            link: linkTo("revoked"),
          } as const,
        ]
      : []),
    ...(first?.token_expires_at
      ? [
          {
            id: "expiring",
            tone: "waiting",
            text: words.expires(namesOf(expiring)),
            time: { at: first.token_expires_at },
            link: linkTo("active"),
          } as const,
        ]
      : []),
  ];
}

const namesOf = ([first, ...others]: readonly AdAccountDto[]): string =>
  words.accounts(first?.name ?? "", others.length);

/** A client that never used advertising needs no terms; the checklist mentions them. */
function findTerms({ terms, adAccounts = [] }: Findings): Attention[] {
  if (!terms || terms.accepted) return [];
  const isRenewed = terms.accepted_at !== null;
  if (!isRenewed && adAccounts.length === 0) return [];
  const text = isRenewed ? words.terms(terms.version) : words.termsNeeded(terms.version);
  return [
    { id: "terms", tone: "waiting", text, link: { label: words.see.terms, path: "/console/ads/terms" } },
  ];
}

const MAX_SHOWN_BATCHES = 3;

function findBatches({ pausedBatches = [] }: Findings): Attention[] {
  if (pausedBatches.length <= MAX_SHOWN_BATCHES) return pausedBatches.map(toPausedBatch);
  const link = { label: words.see.batches, path: "/console/batches", query: { status: "paused" } };
  return [{ id: "batches", tone: "waiting", text: words.batches(pausedBatches.length), link }];
}

const toPausedBatch = ({ batch_id: id, name, pause_reason }: BatchDto): Attention => ({
  id,
  tone: "waiting",
  text: words.batch(name ?? id, pause_reason),
  link: { label: words.see.batch, path: `/console/batches/${id}` },
});

const MAX_SHOWN_FAILURES = 5;

/**
 * The largest groups of failures of the last 24 hours, which come most frequent first; the others by kind. Tests of the address
 * itself, which have no key, concern only the person who made them.
 */
function findFailures({ failures = [] }: Findings, nameOf: NameOf): Attention[] {
  const real = failures.filter((group) => group.kind === "message" || group.key !== null);
  const others = real.slice(MAX_SHOWN_FAILURES);
  return [
    ...real.slice(0, MAX_SHOWN_FAILURES).map((group) => toFailures(group, nameOf)),
    ...toOtherFailures("message", others),
    ...toOtherFailures("delivery", others),
  ];
}

const FAILED_LISTS = {
  message: { label: words.see.messages, path: "/console/messages", query: { status: "failed" } },
  delivery: { label: words.see.events, path: "/console/events", query: { status: "failed" } },
} as const;

function toOtherFailures(kind: FailureGroupDto["kind"], groups: readonly FailureGroupDto[]): Attention[] {
  const own = groups.filter((group) => group.kind === kind);
  if (own.length === 0) return [];
  const count = own.reduce((sum, group) => sum + group.count, 0);
  return [{ id: kind, tone: "bad", text: words.otherFailures[kind](count), link: FAILED_LISTS[kind] }];
}

function toFailures(group: FailureGroupDto, nameOf: NameOf): Attention {
  const { count, summary, sample_id: id, last_at: at } = group;
  const shared = { id, tone: "bad", time: { at } } as const;
  if (group.kind === "message") {
    const { channel_id } = group;
    const text = words.failedMessages(count, nameOf(channel_id), summary);
    const { label, path, query } = FAILED_LISTS.message;
    const link = { label, path, query: { ...query, channel_id } };
    return { ...shared, text, link, sample: `/console/messages/${id}` };
  }
  const { label, path, query } = FAILED_LISTS.delivery;
  const link = { label, path, query: { ...query, ...(group.key === null ? {} : { key: group.key }) } };
  return { ...shared, text: words.failedEvents(count, summary), link, sample: `/console/events/${id}` };
}
