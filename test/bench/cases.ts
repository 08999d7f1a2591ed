import { parseArgs } from "node:util";
import type { BenchCase, Measure } from "./case.ts";
import { deliveries, steadyDeliveries } from "./deliveries.ts";
import { batches, messages, reads, uploads, webhooks, webhooksAtHalfLoad } from "./requests.ts";
import { sends } from "./sends.ts";
import { soak } from "./soak.ts";

const [P50, P99] = ["p50", "p99"].map((value): Measure => ({ value, unit: "ms", better: "lower" })) as [
  Measure,
  Measure,
];
const memoryGrowth = (value: string): Measure => ({ value, unit: "% of the first minute", better: "lower" });

const SINGLE_MESSAGES = messages({ count: 8_000, callers: 64 });

/** All cases, in the order of the table. */
export const CASES: readonly BenchCase[] = [
  {
    name: "messages",
    about:
      "64 callers send one message per request. express checks the API key and the Idempotency-Key as Herald does; fastify only stores and queues, the least that any server needs.",
    item: "message",
    work: SINGLE_MESSAGES,
    peers: { express: { target: 1.5 }, fastify: {} },
  },
  {
    name: "batches",
    about: "Messages are accepted in batches of 1,000, beside one per request.",
    item: "message",
    work: batches({ count: 8, callers: 4 }),
    peers: { "single-messages": { target: 5, work: SINGLE_MESSAGES } },
  },
  {
    name: "webhooks-1",
    about: "Webhooks of one update: the smallest that platforms send.",
    item: "update",
    work: webhooks({ updates: 1, callers: 64, count: 8_000 }),
    peers: { express: { target: 1 } },
  },
  {
    name: "webhooks-10",
    about:
      "Webhooks of 10 updates. express commits each update, express-multi-row all in one statement; neither finds the owner, deduplicates or makes an event.",
    item: "update",
    work: webhooks({ updates: 10, callers: 64, count: 1_500 }),
    peers: { express: { target: 1.5 }, "express-multi-row": {} },
  },
  {
    name: "webhooks-at-half-load",
    about:
      "How soon a webhook is acknowledged when half of the capacity is used. Platforms repeat slow ones.",
    item: "update",
    work: webhooksAtHalfLoad({ updates: 1, callers: 64, count: 4_000 }),
    bounds: [{ ...P99, limit: 100 }],
  },
  {
    name: "deliveries-1",
    about:
      "A backlog of events for one backend. graphile is a queue in PostgreSQL, with its settings for high rates.",
    item: "event",
    work: deliveries({ count: 4_000, backends: 1 }),
    peers: { bullmq: { target: 1.3 }, graphile: { target: 1 } },
  },
  {
    name: "deliveries-200",
    about: "A backlog of events for 200 backends, which cost connections.",
    item: "event",
    work: deliveries({ count: 4_000, backends: 200 }),
    peers: { bullmq: { target: 1.3 }, graphile: { target: 1 } },
  },
  {
    name: "delivery-latency",
    about: "From the commit of an event to its arrival, at 100 events per second.",
    item: "event",
    work: steadyDeliveries({ perSecond: 100, seconds: 10, backends: 20 }),
    measure: P50,
    peers: { bullmq: { target: 1 } },
    bounds: [{ ...P99, limit: 100 }],
  },
  {
    name: "failing-neighbours",
    about:
      "The same for 20 backends, while one backend hangs, one answers 500 and one sends its answer byte by byte.",
    item: "event",
    work: steadyDeliveries({
      perSecond: 120,
      seconds: 15,
      slots: 50,
      backends: 20,
      failing: ["hang", "error", "drip"],
    }),
    measure: P99,
    peers: { bullmq: { target: 20 } },
    bounds: [
      { ...P99, limit: 100 },
      { value: "arrived", unit: "% of the events", better: "higher", limit: 100 },
    ],
  },
  {
    name: "waiting-sends",
    about: "A backlog of events, while 100,000 messages wait for a platform that refuses connections.",
    item: "event",
    work: deliveries({ count: 4_000, backends: 20 }),
    condition: { waitingSends: 100_000 },
    peers: { "nothing-waiting": { target: 0.9, condition: {} } },
  },
  {
    name: "two-dispatchers",
    about:
      "Two dispatchers beside one, with backends that answer after 100 ms: slots limit the rate, not the processor.",
    item: "event",
    work: deliveries({ count: 3_000, slots: 30, backends: 60, mode: "slow" }),
    condition: { dispatchers: 2 },
    measure: { value: "rate", unit: "events/s", better: "higher" },
    peers: { "one-dispatcher": { target: 1.9, condition: {} } },
  },
  {
    name: "sends",
    about: "A backlog of messages of 50 channels, to a platform that answers after 50 ms.",
    item: "message",
    work: sends({ perChannel: 80, channels: 50, perSecond: 80 }),
    peers: { bullmq: { target: 1.1 } },
  },
  {
    name: "channel-rate",
    about: "The lowest and the highest rate of 50 channels that are limited to 5 messages per second.",
    item: "message",
    work: sends({ perChannel: 66, channels: 50, perSecond: 5 }),
    bounds: [
      { value: "lowest", unit: "% of the limit", better: "higher", limit: 98 },
      { value: "highest", unit: "% of the limit", better: "lower", limit: 102 },
    ],
  },
  {
    name: "uploads",
    about: "Small requests while 8 callers upload images of 7 MiB. The peer decodes them on its event loop.",
    item: "upload",
    work: uploads({ count: 80, callers: 8, mebibytes: 7 }),
    measure: P99,
    peers: { express: { target: 3 } },
    bounds: [{ value: "memory", unit: "MB", better: "lower", limit: 400 }],
  },
  {
    name: "history-deliveries",
    about: "Deliveries with 2,000,000 events and 1,000,000 messages of 30 days, beside a new database.",
    item: "event",
    work: deliveries({ count: 5_000, backends: 20 }),
    condition: { history: "30-days" },
    peers: { "new-database": { target: 0.9, condition: {} } },
  },
  {
    name: "history-messages",
    about: "One message per request with the same history.",
    item: "message",
    work: SINGLE_MESSAGES,
    condition: { history: "30-days" },
    peers: { "new-database": { target: 0.9, condition: {} } },
  },
  {
    name: "history-webhooks",
    about: "Webhooks of 10 updates with the same history.",
    item: "update",
    work: webhooks({ updates: 10, callers: 64, count: 1_000 }),
    condition: { history: "30-days" },
    peers: { "new-database": { target: 0.9, condition: {} } },
  },
  {
    name: "history-events-page",
    about: "The first page of the event log with the same history, beside 5,000 events of one day.",
    item: "page",
    work: reads({ read: "events-page", count: 200 }),
    condition: { history: "30-days" },
    measure: P50,
    peers: { "1-day": { target: 0.67, condition: { history: "1-day" } } },
  },
  {
    name: "history-messages-page",
    about: "The first page of the messages, likewise.",
    item: "page",
    work: reads({ read: "messages-page", count: 200 }),
    condition: { history: "30-days" },
    measure: P50,
    peers: { "1-day": { target: 0.67, condition: { history: "1-day" } } },
  },
  {
    name: "history-retry",
    about: "The dry run of a retry of the failed events of 28 days.",
    item: "request",
    work: reads({ read: "retry-dry-run", count: 5 }),
    condition: { history: "30-days" },
    bounds: [{ ...P50, limit: 300 }],
  },
  {
    name: "soak",
    about:
      "The memory of each process after five minutes of mixed load. Its limit allows for the rhythm of the garbage collector.",
    item: "request",
    work: soak({ seconds: 300 }),
    bounds: ["web", "dispatcher", "scheduler"].map((name) => ({ ...memoryGrowth(name), limit: 111 })),
    once: true,
    onlyWhenNamed: true,
  },
];

export interface BenchOptions {
  cases: readonly BenchCase[];
  rounds: number;
  /** Multiplies the counts. */
  scale: number;
  /** Updates docs/benchmarks.*. */
  write: boolean;
}

const MIN_ROUNDS = 5;
/** One round with a few items shows that the cases work, not how fast they are. */
const SMOKE_TEST = { rounds: 1, scale: 0.01 };

/** Reads the arguments. Throws for unknown ones, because a run takes too long to find a typing error at its end. */
export function readOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      rounds: { type: "string", default: String(MIN_ROUNDS) },
      scale: { type: "string", default: "1" },
      smoke: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
    },
  });
  const { smoke, write, only } = values;
  const { rounds, scale } = smoke
    ? SMOKE_TEST
    : { rounds: positive("rounds", values.rounds), scale: positive("scale", values.scale) };
  if (write && (rounds < MIN_ROUNDS || scale < 1))
    throw new Error(`--write needs at least ${MIN_ROUNDS} rounds with all items`);
  return { cases: chooseCases(only), rounds, scale, write };
}

function chooseCases(only: string | undefined): readonly BenchCase[] {
  if (only === undefined) return CASES.filter(({ onlyWhenNamed }) => !onlyWhenNamed);
  const [names, known] = [only.split(","), CASES.map(({ name }) => name)];
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new Error(`--only: there is no ${unknown.join(", ")}; names: ${known.join(", ")}`);
  return CASES.filter(({ name }) => names.includes(name));
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (value > 0 && (name !== "rounds" || Number.isInteger(value))) return value;
  throw new Error(`--${name} must be a positive number`);
}
