import { Pool } from "undici";

/** An endpoint under load. */
export interface Target {
  name: string;
  origin: string;
  path: string;
  status: number;
  /** Returns a different request at each call. */
  request(): { headers: Record<string, string>; body: string };
}

export interface Measurement {
  perSecond: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
}

interface LoadOptions {
  connections: number;
  durationMs: number;
}

/** Sends requests over `connections` concurrent connections, each without pause. Throws on an unexpected status. */
export async function runLoad(
  target: Target,
  { connections, durationMs }: LoadOptions,
): Promise<Measurement> {
  const pool = new Pool(target.origin, { connections, pipelining: 1 });
  const latenciesMs: number[] = [];
  const startedAt = performance.now();
  const sendRequests = async () => {
    while (performance.now() - startedAt < durationMs) {
      const sentAt = performance.now();
      const { statusCode, body } = await pool.request({
        method: "POST",
        path: target.path,
        ...target.request(),
      });
      const text = await body.text();
      if (statusCode !== target.status) throw new Error(`${target.name} answered ${statusCode}: ${text}`);
      latenciesMs.push(performance.now() - sentAt);
    }
  };
  await Promise.all(Array.from({ length: connections }, sendRequests));
  const seconds = (performance.now() - startedAt) / 1000;
  await pool.close();
  latenciesMs.sort((one, other) => one - other);
  const percentile = (fraction: number) => latenciesMs[Math.floor(latenciesMs.length * fraction)] ?? 0;
  return { perSecond: latenciesMs.length / seconds, p50: percentile(0.5), p99: percentile(0.99) };
}
