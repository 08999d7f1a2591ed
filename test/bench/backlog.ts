import "reflect-metadata";
import { container } from "tsyringe";
import { registerShared } from "../../src/composition/process.ts";
import { DATABASE, EVENT_NOTIFIER, MESSAGE_NOTIFIER, REDIS, resolve } from "../../src/composition/tokens.ts";
import { awaitConnection } from "../../src/queue/redis.ts";
import { until } from "../fixtures/until.ts";
import type { Sample } from "./case.ts";
import type { ArrivalTimes, BenchContext, BenchProcess, Receiver } from "./context.ts";
import { type ProcessIds, startCpuCount } from "./usage.ts";

/** A queue with the processes that work it off: Herald's dispatchers or a peer. */
export interface Queue<Item> {
  workers: readonly BenchProcess[];
  processes: ProcessIds;
  /** Commits items and enqueues them; resolves when all are enqueued, with their ids. */
  enqueue(items: readonly Item[]): Promise<string[]>;
  /** True when no item waits and no worker has one. Looks at the queue, which is empty then, and not at the written rows. */
  isIdle(): Promise<boolean>;
  /** Counts the items from this id on whose success is written, and their attempts. */
  countWritten(firstId: string): Promise<{ done: number; attempts: number }>;
}

/** The part of a peer that runs in the process of the benchmark. */
export interface PeerJobs<Job> {
  add(jobs: readonly Job[]): Promise<unknown>;
  isIdle(): Promise<boolean>;
  /** Removes the waiting jobs. */
  discard(): Promise<unknown>;
  close(): Promise<unknown>;
}

export interface PeerModule<Job> {
  openJobs(settings: Record<string, string>): Promise<PeerJobs<Job>>;
}

const MAX_BATCH_ROWS = 1_000;

/** Inserts the rows and adds the jobs in parts that one statement takes. */
export async function inBatches<T>(items: readonly T[], work: (batch: readonly T[]) => Promise<unknown>) {
  for (let from = 0; from < items.length; from += MAX_BATCH_ROWS)
    await work(items.slice(from, from + MAX_BATCH_ROWS));
}

/** Opens the parts with which web records and enqueues, in this process. */
export async function openProducer({ config, teardown }: BenchContext) {
  const parts = container.createChildContainer();
  registerShared(parts, { ...config, LOG_LEVEL: "warn" }, "bench");
  const [db, redis] = [resolve(parts, DATABASE), resolve(parts, REDIS)];
  const [events, messages] = [resolve(parts, EVENT_NOTIFIER), resolve(parts, MESSAGE_NOTIFIER)];
  await awaitConnection(redis, 5_000);
  for (const notifier of [events, messages]) await notifier.start?.({ fail: () => {} });
  teardown(async () => {
    for (const notifier of [events, messages]) await notifier.close?.();
    redis.disconnect();
    await db.close();
  });
  return { db, events, messages };
}

/** Milliseconds of the monotonic clock of the machine, which all processes share. */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;

interface Round<Item> {
  receiver: Receiver;
  items: readonly Item[];
  /** The number of different keys that must have arrived. */
  keys: number;
}

/**
 * Works off items from the moment at which all of them are enqueued until all have arrived at the receiver and their
 * outcomes are written. Throws unless each arrived exactly once and has one attempt.
 */
export async function workOff<Item>(
  queue: Queue<Item>,
  { receiver, items, keys }: Round<Item>,
): Promise<{ sample: Sample; arrivals: ArrivalTimes }> {
  await receiver.reset();
  for (const worker of queue.workers) worker.suspend();
  const [firstId = ""] = (await queue.enqueue(items)).sort();
  const arrived = receiver.waitFor(items.length);
  const toSample = startCpuCount(queue.processes);
  const startedAt = monotonicMs();
  for (const worker of queue.workers) worker.resume();
  await arrived;
  await until("the queue is empty", queue.isIdle);
  const seconds = (monotonicMs() - startedAt) / 1_000;
  const sample = toSample(items.length, { rate: items.length / seconds });
  const arrivals = await receiver.arrivals();
  const requests = arrivals.reduce((sum, [, times]) => sum + times.length, 0);
  if (requests !== items.length || arrivals.length !== keys)
    throw new Error(`${requests} requests with ${arrivals.length} of ${keys} keys have arrived`);
  const { done, attempts } = await queue.countWritten(firstId);
  if (done !== items.length || attempts !== items.length)
    throw new Error(`${done} outcomes and ${attempts} attempts of ${items.length} items are written`);
  return { sample, arrivals };
}
