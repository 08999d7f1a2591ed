import { Pool } from "undici";

/** What is asked again and again. */
export interface Target {
  name: string;
  origin: string;
  path: string;
  status: number;
  /** Another one each time. */
  request(): { headers: Record<string, string>; body: string };
}

export interface Measure {
  perSecond: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
}

interface Load {
  connections: number;
  milliseconds: number;
}

/** So many callers at once, each of whom asks again as soon as it is answered. An answer other than the right one is thrown. */
export async function load(target: Target, { connections, milliseconds }: Load): Promise<Measure> {
  const pool = new Pool(target.origin, { connections, pipelining: 1 });
  const times: number[] = [];
  const began = performance.now();
  const ask = async () => {
    while (performance.now() - began < milliseconds) {
      const asked = performance.now();
      const { statusCode, body } = await pool.request({
        method: "POST",
        path: target.path,
        ...target.request(),
      });
      const text = await body.text();
      if (statusCode !== target.status) throw new Error(`${target.name} answered ${statusCode}: ${text}`);
      times.push(performance.now() - asked);
    }
  };
  await Promise.all(Array.from({ length: connections }, ask));
  const seconds = (performance.now() - began) / 1000;
  await pool.close();
  times.sort((one, other) => one - other);
  const at = (part: number) => times[Math.floor(times.length * part)] ?? 0;
  return { perSecond: times.length / seconds, p50: at(0.5), p99: at(0.99) };
}
