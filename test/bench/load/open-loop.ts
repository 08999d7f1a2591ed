import { setTimeout as sleep } from "node:timers/promises";
import { type Connection, openConnection, type Target } from "./connection.ts";
import { percentilesOf } from "./percentiles.ts";

const TICK_MS = 1;

/**
 * Sends the requests at a constant rate, whatever the answers do, over as many connections as needed. Times count from
 * the moment at which a request was due, so that a late start counts too.
 */
export async function sendOpenLoop(target: Target, perSecond: number, requests: readonly Buffer[]) {
  const idle: Connection[] = [];
  const opened: Connection[] = [];
  const times: number[] = [];
  const connect = async () => {
    const connection = await openConnection(target);
    opened.push(connection);
    return connection;
  };
  const send = async (request: Buffer, dueAt: number) => {
    const connection = idle.pop() ?? (await connect());
    await connection.send(request);
    idle.push(connection);
    times.push(performance.now() - dueAt);
  };
  const startedAt = performance.now();
  const sent: Promise<void>[] = [];
  while (sent.length < requests.length) {
    const dueAt = startedAt + (sent.length * 1_000) / perSecond;
    if (dueAt > performance.now()) await sleep(TICK_MS);
    else {
      const sending = send(requests[sent.length] as Buffer, dueAt);
      sending.catch(() => {}); // reported by Promise.all below
      sent.push(sending);
    }
  }
  await Promise.all(sent);
  for (const connection of opened) connection.close();
  return percentilesOf(times);
}
