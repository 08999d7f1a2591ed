import type { BenchContext } from "../frame/context.ts";
import { startProgram } from "../frame/processes.ts";
import type { ArrivalTimes } from "./arrivals.ts";

/** A program that receives the requests of the contestants and records their times. */
export interface Receiver {
  pid: number;
  port: number;
  /** True when it records the ids of items, false when it records only where they go. */
  recordsItems: boolean;
  reset(): Promise<void>;
  /** Ends the requests that the backend has not answered. */
  release(): Promise<void>;
  /** Resolves when this many requests have arrived since the reset. */
  waitFor(count: number): Promise<void>;
  /** Event ids or phone number ids, and the times of their requests. */
  arrivals(): Promise<ArrivalTimes>;
}

/** A round that takes longer has lost requests, which fails the run. */
const MAX_WAIT_MS = 120_000;

export async function startReceiver(context: BenchContext, name: "backend" | "platform"): Promise<Receiver> {
  const { pid, origin } = await startProgram(context, `programs/${name}`);
  const call = async (path: string): Promise<unknown> =>
    (await fetch(`${origin}/${path}`, { signal: AbortSignal.timeout(MAX_WAIT_MS) })).json();
  return {
    pid,
    recordsItems: name === "backend",
    port: Number(new URL(origin).port),
    async reset() {
      await call("control/reset");
    },
    async release() {
      await call("release");
    },
    async waitFor(count) {
      await call(`control/wait/${count}`).catch((error) => {
        throw new Error(`fewer than ${count} requests have arrived at the ${name}`, { cause: error });
      });
    },
    arrivals: async () => (await call("control/arrivals")) as ArrivalTimes,
  };
}
