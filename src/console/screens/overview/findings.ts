import type {
  AdAccountDto,
  BatchDto,
  ChannelDto,
  EventDto,
  FailureGroupDto,
  FailuresDto,
  MarketingTermsStatusDto,
  QueueStatsDto,
} from "../../../../sdk/src/generated/types.ts";
import { type CallOptions, call } from "../../app/api.ts";
import { may } from "../../app/session.ts";

/** What the overview is judged by. A part is missing when the caller's role does not allow it, or it could not be read. */
export interface Findings {
  queue?: QueueStatsDto | undefined;
  /** An event that waits; the oldest ones have attempts in a backlog. */
  oldestWaiting?: EventDto | undefined;
  newestEvent?: EventDto | undefined;
  failures?: readonly FailureGroupDto[] | undefined;
  /** Channels whose access the platform no longer accepts. */
  channels?: readonly ChannelDto[] | undefined;
  pausedBatches?: readonly BatchDto[] | undefined;
  terms?: MarketingTermsStatusDto | undefined;
  adAccounts?: readonly AdAccountDto[] | undefined;
}

export interface FindingsReply {
  findings: Findings;
  /** False when a part could not be read. */
  isComplete: boolean;
}

type Reader = (signal: AbortSignal) => Promise<Findings>;

const MAX_LISTED = 100;

const read = <T>(path: string, signal: AbortSignal, query: CallOptions["query"] = {}): Promise<T> =>
  call<T>("GET", path, { query, signal });

const readRows = async <Row>(
  path: string,
  signal: AbortSignal,
  query: CallOptions["query"] = {},
): Promise<Row[]> => (await read<{ data: Row[] }>(path, signal, { limit: MAX_LISTED, ...query })).data;

/** When the event that has waited longest was accepted; null when none waits. */
export const oldestEventAt = ({ data }: QueueStatsDto): string | null =>
  data.flatMap(({ oldest_waiting_at }) => oldest_waiting_at ?? []).sort()[0] ?? null;

/** Reads what waits for the backend, and the event that has waited longest. */
async function readQueue(signal: AbortSignal): Promise<Findings> {
  const queue = await read<QueueStatsDto>("/api/stats/queue", signal);
  const until = oldestEventAt(queue);
  if (until === null) return { queue };
  const query = { status: "pending", until, limit: 1 };
  const [oldestWaiting] = await readRows<EventDto>("/api/webhooks/events", signal, query);
  return { queue, oldestWaiting };
}

const WEBHOOK_READERS: readonly Reader[] = [
  readQueue,
  async (signal) => {
    const [newestEvent] = await readRows<EventDto>("/api/webhooks/events", signal, { limit: 1 });
    return { newestEvent };
  },
];

const MESSAGE_READERS: readonly Reader[] = [
  async (signal) => ({
    pausedBatches: await readRows<BatchDto>("/api/outbound/batches", signal, { status: "paused" }),
  }),
  async (signal) => ({
    channels: await readRows<ChannelDto>("/api/channels", signal, { status: "needs_reauth" }),
  }),
  async (signal) => ({ failures: (await read<FailuresDto>("/api/stats/failures", signal)).data }),
];

const ADS_READERS: readonly Reader[] = [
  async (signal) => ({ terms: await read<MarketingTermsStatusDto>("/api/marketing/terms", signal) }),
  async (signal) => ({ adAccounts: await readRows<AdAccountDto>("/api/marketing/ad-accounts", signal) }),
];

/** Reads what the caller's role may see. */
export async function readFindings(signal: AbortSignal): Promise<FindingsReply> {
  const readers = [
    ...(may("webhooks:manage") ? WEBHOOK_READERS : []),
    ...(may("messages:send") ? MESSAGE_READERS : []),
    ...(may("marketing:read") ? ADS_READERS : []),
  ];
  const parts = await Promise.allSettled(readers.map((reader) => reader(signal)));
  signal.throwIfAborted();
  const failed = parts.find((part) => part.status === "rejected");
  if (failed && parts.every((part) => part.status === "rejected")) throw failed.reason; // Herald does not answer
  const found = parts.flatMap((part) => (part.status === "fulfilled" ? [part.value] : []));
  return {
    findings: Object.assign({}, ...found) as Findings,
    isComplete: found.length === readers.length,
  };
}
