import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { percentilesOf } from "./percentiles.ts";

/** Sends small GET requests one after another from a thread while `work` runs, and returns their times too. */
export async function probeDuring<T>(
  target: { url: string; headers: Record<string, string> },
  work: () => Promise<T>,
): Promise<{ result: T; p50: number; p99: number }> {
  const thread = new Worker(new URL("./probe-thread.js", import.meta.url), { workerData: target });
  try {
    await Promise.race([once(thread, "message"), failureOf(thread)]); // the first answer opens the connection
    const result = await Promise.race([work(), failureOf(thread)]);
    const times = once(thread, "message") as Promise<[number[]]>;
    thread.postMessage("stop");
    return { result, ...percentilesOf((await times)[0]) };
  } finally {
    await thread.terminate();
  }
}

const failureOf = (thread: Worker): Promise<never> =>
  once(thread, "error").then(([error]) => {
    throw error;
  });
