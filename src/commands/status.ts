import { toChannel } from "../domain/channels/channels.ts";
import { readFailures } from "../domain/stats/failures.ts";
import { isOpen, listBreakers } from "../queue/breakers.ts";
import { listPauses, type QuotaPause } from "../queue/platform-pauses.ts";
import { type QueueStatus, queueStatus, WAIT_REASONS } from "../queue/queue-status.ts";
import { awaitConnection } from "../queue/redis.ts";
import { readRedisState } from "../queue/redis-state.ts";
import { tagsOf } from "../queue/wake-ups.ts";
import { DAY, SECOND } from "../runtime/durations.ts";
import { rootCauseMessage } from "../runtime/errors.ts";
import type { FailureGroupDto } from "../schema/failures.ts";
import { countChannels, listChannelsOfAllClients } from "../store/channels/channel-owners.ts";
import type { Queryable } from "../store/database/database.ts";
import { probeWrites } from "../store/database/write-probe.ts";
import { countFailedDeliveries, findLastError } from "../store/events/queue-metrics.ts";
import { countFailedMessages } from "../store/messages/queue-metrics.ts";
import { describeHold } from "../store/processes/queue-hold.ts";
import { describeWorkers, readWorkerStates, type WorkerState } from "../store/processes/workers.ts";
import { findClient } from "../store/tenants/clients.ts";
import { type Command, type CommandContext, defineCommand } from "./command-line/command.ts";
import { toColumns, toText } from "./command-line/output.ts";
import { examinePlatforms, examineWeb } from "./doctor/addresses.ts";
import { examineRedis } from "./doctor/redis.ts";

const ANSWER_TIMEOUT_MS = 5 * SECOND;
/** Rows of each table; the commands for each subject show all of them. */
const MAX_ROWS = 10;
/** The clients with most failures, whose causes are shown. */
const MAX_FAILING_CLIENTS = 5;
const FAILURE_PERIOD_MS = 1 * DAY;

interface Status {
  web: string;
  /** `ok`, or why Postgres refuses writes. */
  postgres: string;
  /** `ok`, or why Redis cannot be used or refuses writes. */
  redis: string;
  /** The platforms that do not answer. */
  platforms: string[];
  workers: WorkerState[];
  queue: Omit<QueueStatus, "clients" | "data">;
  waiting: QueueStatus["data"][number]["waiting"];
  oldest_due_seconds: number;
  failed_24h: { messages: number; events: number };
  channels: Record<string, number>;
  /** How many backends have a circuit breaker that is not closed; null while Redis does not answer, as the next ones. */
  failing_backends: number | null;
  /** Those that fail longest. */
  breakers: ShownBreaker[] | null;
  needs_reauth: object[];
  /** Limits of the platforms that pause calls. */
  pauses: QuotaPause[] | null;
  failures: (FailureGroupDto & { client_id: string })[];
}

interface ShownBreaker {
  client_id: string;
  client: string | null;
  origin: string;
  state: "open" | "half_open";
  since: Date | null;
  next_probe_at: Date;
  /** Of the newest event that waits after an attempt. */
  last_error: string | null;
}

export const STATUS_COMMAND: Command = defineCommand({
  name: "status",
  summary:
    "Show on one screen the processes, the hold, what waits and failed, open breakers, channels that need a new token, and limits of the platforms",
  options: {},
  async run(_, context): Promise<Status> {
    const { db, redis, config } = context;
    const tags = tagsOf(config);
    await awaitConnection(redis, ANSWER_TIMEOUT_MS);
    const { data, clients, ...queue } = await queueStatus({ db, redis, tags });
    return {
      web: (await examineWeb(config.PUBLIC_URL)).message,
      postgres: await probeWrites(db).then(() => "ok", rootCauseMessage),
      redis: await readRedis(context),
      platforms: (await examinePlatforms(config)).flatMap(({ status, message }) =>
        status === "ok" ? [] : [message],
      ),
      workers: await readWorkerStates(db),
      queue,
      waiting: sumWaiting(data),
      oldest_due_seconds: Math.max(...data.map(({ oldest_due_seconds: seconds }) => seconds)),
      channels: await readChannelCounts(db),
      ...(await readBreakers(context).catch(() => ({ failing_backends: null, breakers: null }))),
      needs_reauth: await readChannelsInNeed(db),
      pauses: await listPauses(redis).catch(() => null),
      ...(await readRecentFailures(context)),
    };
  },
  show: (status) => [toText(toSummary(status)), ...toTables(status)].join("\n\n"),
  // Also because a script must not take a partial result for a complete one.
  isFailure: ({ postgres, redis, workers }) =>
    postgres !== "ok" ||
    redis !== "ok" ||
    workers.some((one) => one.process === "dispatcher" && one.running === 0),
});

/** Of a Redis that does not accept writes, the client knows only the error of its last command. */
async function readRedis({ redis, config }: CommandContext): Promise<string> {
  const { state } = await readRedisState(redis, { tags: tagsOf(config), timeoutMs: ANSWER_TIMEOUT_MS });
  if (state === "ok") return "ok";
  const problems = (await examineRedis(config)).filter(({ status }) => status === "failed");
  return problems.map(({ message }) => message).join("; ") || state;
}

function sumWaiting(data: QueueStatus["data"]): Status["waiting"] {
  const names = ["total", ...WAIT_REASONS] as const;
  const sumOf = (name: (typeof names)[number]) => data.reduce((sum, { waiting }) => sum + waiting[name], 0);
  return Object.fromEntries(names.map((name) => [name, sumOf(name)])) as Status["waiting"];
}

async function readChannelCounts(db: Queryable): Promise<Record<string, number>> {
  const counts: Record<string, number> = { connected: 0, needs_reauth: 0 };
  for (const { status, count } of await countChannels(db)) counts[status] = (counts[status] ?? 0) + count;
  return counts;
}

async function readBreakers({
  db,
  redis,
  config,
}: CommandContext): Promise<Pick<Status, "failing_backends" | "breakers">> {
  const lists = await Promise.all(tagsOf(config).map((tag) => listBreakers(redis, tag)));
  const all = lists.flatMap((list) => [...list]);
  const longest = all.sort(([, one], [, other]) => (one.since ?? 0) - (other.since ?? 0)).slice(0, MAX_ROWS);
  const breakers: ShownBreaker[] = [];
  for (const [clientId, breaker] of longest)
    breakers.push({
      client_id: clientId,
      client: (await findClient(db, clientId))?.name ?? null,
      origin: breaker.origin,
      state: isOpen(breaker) ? "open" : "half_open",
      since: breaker.since === undefined ? null : new Date(breaker.since),
      next_probe_at: new Date(breaker.until),
      last_error: await findLastError(db, clientId),
    });
  return { failing_backends: all.length, breakers };
}

async function readChannelsInNeed(db: Queryable): Promise<object[]> {
  const page = { limit: MAX_ROWS };
  const rows = await listChannelsOfAllClients(db, { page, status: "needs_reauth" });
  return rows.slice(0, MAX_ROWS).map((row) => ({ client_id: row.client_id, ...toChannel(row) }));
}

async function readRecentFailures({ db }: CommandContext): Promise<Pick<Status, "failed_24h" | "failures">> {
  const messages = await countFailedMessages(db, FAILURE_PERIOD_MS);
  const events = await countFailedDeliveries(db, FAILURE_PERIOD_MS);
  const byClient = new Map<string, number>();
  for (const { client_id, count } of [...messages, ...events])
    byClient.set(client_id, (byClient.get(client_id) ?? 0) + count);
  const failing = [...byClient].sort(([, one], [, other]) => other - one).slice(0, MAX_FAILING_CLIENTS);
  const period = { since: new Date(Date.now() - FAILURE_PERIOD_MS) };
  const groups = [];
  for (const [clientId] of failing)
    for (const group of (await readFailures(db, clientId, { period, kinds: ["messages", "deliveries"] })) ??
      [])
      groups.push({ client_id: clientId, ...group });
  return {
    failed_24h: { messages: sumCounts(messages), events: sumCounts(events) },
    failures: groups.sort((one, other) => other.count - one.count).slice(0, MAX_ROWS),
  };
}

const sumCounts = (rows: readonly { count: number }[]) => rows.reduce((sum, { count }) => sum + count, 0);

/** The lines at the top of the screen. A word in capitals needs an operator. */
function toSummary(status: Status): Record<string, string> {
  const { queue, waiting, failed_24h: failed, channels } = status;
  const reasons = WAIT_REASONS.filter((reason) => waiting[reason] > 0).map(
    (reason) => `${reason} ${waiting[reason]}`,
  );
  return {
    web: status.web,
    postgres: status.postgres === "ok" ? "accepts writes" : `REFUSES WRITES: ${status.postgres}`,
    redis: status.redis === "ok" ? "accepts writes" : `NOT USABLE: ${status.redis}`,
    platforms: status.platforms.length === 0 ? "answer" : `NOT USABLE: ${status.platforms.join("; ")}`,
    ...Object.fromEntries(
      status.workers.map((state) => [state.process, describeWorkers(state).replace(/^none/, "NONE")]),
    ),
    queue: queue.held
      ? describeHold({ held: true, since: queue.held_since, by: queue.held_by, reason: queue.held_reason })
      : "not held",
    waiting: reasons.length === 0 ? "0" : `${waiting.total} (${reasons.join(", ")})`,
    oldest_due: `${status.oldest_due_seconds} s`,
    failed_24h: `${failed.messages} messages, ${failed.events} events`,
    backends: status.failing_backends === null ? "unknown" : `${status.failing_backends} fail`,
    channels: Object.entries(channels)
      .map(([name, count]) => `${count} ${name}`)
      .join(", "),
  };
}

function toTables({ breakers, needs_reauth, pauses, failures }: Status): string[] {
  const table = (title: string, rows: readonly object[] | null, columns: readonly string[]) =>
    rows === null || rows.length === 0 ? [] : [`${title}\n${toColumns(rows.slice(0, MAX_ROWS), columns)}`];
  return [
    ...table("Backends that fail longest (circuit breakers)", breakers, BREAKER_FIELDS),
    ...table("Channels that need a new token", needs_reauth, CHANNEL_FIELDS),
    ...table("Calls paused by a limit of a platform", pauses, PAUSE_FIELDS),
    ...table("Failures of the last 24 hours", failures, FAILURE_FIELDS),
  ];
}

const BREAKER_FIELDS = [
  "client_id",
  "client",
  "origin",
  "state",
  "since",
  "next_probe_at",
  "last_error",
] as const;
const CHANNEL_FIELDS = ["client_id", "channel_id", "platform", "display_name", "connected_at"] as const;
const PAUSE_FIELDS = ["quota", "seconds_left"] as const;
const FAILURE_FIELDS = [
  "client_id",
  "count",
  "kind",
  "cause",
  "status_code",
  "last_at",
  "sample_id",
] as const;
