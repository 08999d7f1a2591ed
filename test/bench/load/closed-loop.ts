import { openConnection, type Target } from "./connection.ts";
import { percentilesOf } from "./percentiles.ts";

export interface LoadResult {
  seconds: number;
  /** Milliseconds from the first byte of a request to the last of its answer. */
  p50: number;
  p99: number;
}

/** Sends all requests over `callers` connections, each of which waits for the answer before it sends the next request. */
export async function sendClosedLoop(
  target: Target,
  callers: number,
  requests: readonly Buffer[],
): Promise<LoadResult> {
  const connections = await Promise.all(
    Array.from({ length: Math.min(callers, requests.length) }, () => openConnection(target)),
  );
  const times: number[] = [];
  let next = 0;
  const startedAt = performance.now();
  await Promise.all(
    connections.map(async ({ send }) => {
      for (let request = requests[next++]; request; request = requests[next++]) {
        const sentAt = performance.now();
        await send(request);
        times.push(performance.now() - sentAt);
      }
    }),
  );
  const seconds = (performance.now() - startedAt) / 1_000;
  for (const connection of connections) connection.close();
  return { seconds, ...percentilesOf(times) };
}
