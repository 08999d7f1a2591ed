import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** The server that gets the requests. */
export interface Target {
  origin: string;
  /** The status of its answers; any other fails the run. */
  status: number;
}

interface RequestParts {
  method?: string;
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
}

/** Builds the bytes of a request before the measurement. */
export function buildRequest({ method = "POST", path, headers, body = "" }: RequestParts): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = Buffer.byteLength(body);
  const head = `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join("")}content-length: ${length}\r\n\r\n`;
  return Buffer.from(head + body);
}

interface Connection {
  /** Sends one request; resolves when its answer is complete. One request at a time. */
  send(request: Buffer): Promise<void>;
  close(): void;
}

/**
 * An HTTP client that does no more than the measurement needs: it takes about a quarter of the processor time of autocannon or
 * undici, which on a small machine would be taken from the server that is measured.
 */
async function openConnection({ origin, status }: Target): Promise<Connection> {
  const { hostname, port } = new URL(origin);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  await once(socket, "connect");
  let pending: { resolve(): void; reject(error: Error): void } | undefined;
  const fail = (error: Error) => pending?.reject(error);
  readAnswers(socket, (answer) => {
    if (answer.startsWith(`HTTP/1.1 ${status} `)) pending?.resolve();
    else fail(new Error(`${origin} answered ${answer.slice(0, 500)}`));
  });
  socket.on("error", fail);
  socket.on("close", () => fail(new Error(`${origin} closed the connection`)));
  socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy(new Error(`${origin} did not answer`)));
  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        pending = { resolve, reject };
        if (socket.destroyed) fail(new Error(`${origin} has closed the connection`));
        else socket.write(request);
      }),
    close: () => socket.destroy(),
  };
}

/** A contestant that does not answer for this long has lost a request. */
const ANSWER_TIMEOUT_MS = 60_000;

const HEAD_END = "\r\n\r\n";

/** Calls `onAnswer` for each complete answer. All contestants send a Content-Length. */
function readAnswers(socket: Socket, onAnswer: (text: string) => void): void {
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
    const headEnd = text.indexOf(HEAD_END);
    if (headEnd < 0) return;
    const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(text.slice(0, headEnd + 2))?.[1];
    if (length === undefined) return void socket.destroy(new Error(`an answer without length: ${text}`));
    if (text.length < headEnd + HEAD_END.length + Number(length)) return;
    const answer = text;
    text = "";
    onAnswer(answer);
  });
}

/** The 50th and 99th percentile of times in milliseconds. */
export function percentilesOf(times: readonly number[]): { p50: number; p99: number } {
  const sorted = Float64Array.from(times).sort();
  const at = (fraction: number) => sorted[Math.floor(sorted.length * fraction)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

/** Sends all requests over `callers` connections, each of which waits for the answer before it sends the next request. */
export async function sendClosedLoop(target: Target, callers: number, requests: readonly Buffer[]) {
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

/**
 * Starts work at a constant rate, whether or not earlier work has ended. Resolves with all results when the last one is
 * there. `dueAt` is the time at which the work should have started.
 */
export async function atRate<T>(
  { perSecond, count }: { perSecond: number; count: number },
  work: (index: number, dueAt: number) => Promise<T>,
): Promise<T[]> {
  const startedAt = performance.now();
  const results: Promise<T>[] = [];
  for (let index = 0; index < count; index++) {
    const dueAt = startedAt + (index * 1_000) / perSecond;
    const waitMs = dueAt - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    const result = work(index, dueAt);
    result.catch(() => {}); // Promise.all reports it, after the last start
    results.push(result);
  }
  return Promise.all(results);
}

/**
 * Sends the requests at a constant rate, whatever the answers do, over as many connections as needed. Times count from
 * the moment at which a request was due, so that a late start counts too.
 */
export async function sendOpenLoop(target: Target, perSecond: number, requests: readonly Buffer[]) {
  const idle: Connection[] = [];
  const times = await atRate({ perSecond, count: requests.length }, async (index, dueAt) => {
    const connection = idle.pop() ?? (await openConnection(target));
    await connection.send(requests[index] as Buffer);
    idle.push(connection);
    return performance.now() - dueAt;
  });
  for (const connection of idle) connection.close();
  return percentilesOf(times);
}

/** Sends one small GET request after another while `work` runs. Returns its result and the percentiles of their times. */
export async function probeDuring<T>(
  target: Target,
  request: Buffer,
  work: () => Promise<T>,
): Promise<[result: T, times: { p50: number; p99: number }]> {
  const connection = await openConnection(target);
  await connection.send(request); // the first answer is slower
  const times: number[] = [];
  let isOver = false;
  const working = work().finally(() => {
    isOver = true;
  });
  working.catch(() => {}); // reported by the await below
  while (!isOver) {
    const sentAt = performance.now();
    await connection.send(request);
    times.push(performance.now() - sentAt);
    await sleep(PROBE_PAUSE_MS);
  }
  connection.close();
  return [await working, percentilesOf(times)];
}

const PROBE_PAUSE_MS = 2;
