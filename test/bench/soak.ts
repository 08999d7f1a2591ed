import { setTimeout as sleep } from "node:timers/promises";
import { configureWebhook } from "../fixtures/events/events.ts";
import { until } from "../fixtures/until.ts";
import type { Sample, Work } from "./case.ts";
import { type BenchContext, startHerald, startReceiver } from "./context.ts";
import { atRate } from "./load.ts";
import { type Channel, makeChatChannel, makeKeyHeader, makeMessage, makeWebhook, repeat } from "./tenants.ts";
import { readRssMb } from "./usage.ts";

interface Request {
  path: string;
  status: number;
  headers: Record<string, string>;
  /** Undefined for a GET. */
  body?: string;
}

/** The kinds of requests, each with its number per second. */
const REQUESTS: readonly { perSecond: number; of(channel: Channel, key: Record<string, string>): Request }[] =
  [
    { perSecond: 30, of: (channel) => ({ status: 200, ...makeWebhook(channel, 1) }) },
    {
      perSecond: 20,
      of: ({ id }, key) => ({
        path: "/api/outbound/send",
        status: 202,
        headers: { ...key, "content-type": "application/json" },
        body: makeMessage(id),
      }),
    },
    { perSecond: 5, of: (_, headers) => ({ path: "/api/webhooks/events", status: 200, headers }) },
    { perSecond: 5, of: (_, headers) => ({ path: "/api/outbound/messages", status: 200, headers }) },
  ];

async function send(origin: string, { path, status, headers, body }: Request): Promise<void> {
  const init = body === undefined ? { headers } : { method: "POST", headers, body };
  const reply = await fetch(origin + path, init);
  const text = await reply.text();
  if (reply.status !== status) throw new Error(`${path} answered ${reply.status}: ${text}`);
}

const CLIENTS = 10;

/** Starts all processes of Herald, and clients with a channel and a backend each. */
async function startSystem(context: BenchContext) {
  const backend = await startReceiver(context, "backend");
  const platform = await startReceiver(context, "platform");
  const clients = await Promise.all(
    repeat(CLIENTS, async () => {
      const channel = await makeChatChannel(context);
      await configureWebhook(context, { id: channel.clientId }, { url: `${backend.origin}/ok` });
      const key = await makeKeyHeader(context, channel.clientId, "messages:send", "webhooks:manage");
      return { channel, key };
    }),
  );
  const settings = { CHAT_PLATFORM_URL: `${platform.origin}/v26.0` };
  const [web, dispatcher, scheduler] = [
    await startHerald(context, "web", settings),
    await startHerald(context, "dispatcher", settings),
    await startHerald(context, "scheduler", settings),
  ];
  return { clients, web, pids: { web: web.pid, dispatcher: dispatcher.pid, scheduler: scheduler.pid } };
}

const COUNT_UNFINISHED = `
  select (
    (select count(*) from deliveries where state <> 'delivered') + (select count(*) from sends)
  )::integer as count`;

/** Samples of the last seconds are averaged, because the garbage collector makes memory rise and fall. */
const [SAMPLE_INTERVAL_MS, AVERAGED_SAMPLES] = [1_000, 20];

/** Returns the average memory in megabytes at the end of this time, by process. */
async function watchMemory(
  pids: Readonly<Record<string, number>>,
  seconds: number,
): Promise<Map<string, number>> {
  const samples = new Map(Object.keys(pids).map((name) => [name, [] as number[]]));
  for (let second = 0; second < seconds; second++) {
    await sleep(SAMPLE_INTERVAL_MS);
    for (const [name, pid] of Object.entries(pids)) samples.get(name)?.push(readRssMb(pid));
  }
  const averageOf = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  return new Map([...samples].map(([name, values]) => [name, averageOf(values.slice(-AVERAGED_SAMPLES))]));
}

/** Sends requests of all kinds. Measures the memory of each process at the end, in percent of that after a fifth of the time. */
export const soak =
  ({ seconds }: { seconds: number }): Work =>
  async (context) => {
    const { clients, web, pids } = await startSystem(context);
    return {
      async run(): Promise<Sample> {
        const duration = context.count(seconds, 5);
        const load = Promise.all(
          REQUESTS.map(({ perSecond, of }) =>
            atRate({ perSecond, count: perSecond * duration }, (index) => {
              const { channel, key } = clients[index % CLIENTS] as (typeof clients)[number];
              return send(web.origin, of(channel, key));
            }),
          ),
        );
        load.catch(context.fail);
        // Until then, processes load code and fill caches.
        const first = await watchMemory(pids, duration / 5);
        const last = await watchMemory(pids, duration - duration / 5);
        await load;
        await until("everything is delivered and sent", async () => {
          const [row] = await context.db.query<{ count: number }>(COUNT_UNFINISHED);
          return row?.count === 0;
        });
        const growth = [...last].map(([name, megabytes]) => [
          name,
          (100 * megabytes) / (first.get(name) ?? 0),
        ]);
        return { values: Object.fromEntries(growth), cpu: {} };
      },
    };
  };
