import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { createKey } from "../../../../src/domain/tenants/api-keys.ts";
import { makeActor } from "../../../fixtures/tenants/actors.ts";
import { makeChannel, newPlatformId } from "../../../fixtures/tenants/channels.ts";
import { until } from "../../../fixtures/until.ts";
import type { BenchContext } from "../../frame/context.ts";
import { startHerald, startWeb } from "../../frame/processes.ts";
import { startReceiver } from "../../programs/receiver.ts";
import { makeDestinations } from "../../systems/destinations.ts";
import { type ChatNumber, webhookBody } from "../webhook-endpoint/webhooks.ts";

/** A client with what its requests need. */
interface SoakClient {
  number: ChatNumber;
  channelId: string;
  headers: Record<string, string>;
}

const CLIENTS = 10;

async function makeSoakClients(context: BenchContext, backendPort: number): Promise<SoakClient[]> {
  const destinations = await makeDestinations(context, { port: backendPort }, Array(CLIENTS).fill("ok"));
  return Promise.all(
    destinations.map(async ({ clientId: id }) => {
      const number = { phoneNumberId: newPlatformId(), wabaId: newPlatformId() };
      const channelId = await makeChannel(context, { id }, number);
      const { text: key } = await createKey(context.db, makeActor(id), {
        name: "bench",
        scopes: ["messages:send", "webhooks:manage"],
        expiresAt: null,
        production: false,
      });
      return { number, channelId, headers: { "x-svc-api-key": key, "content-type": "application/json" } };
    }),
  );
}

interface SoakRequest {
  path: string;
  status: number;
  init: RequestInit;
}

/** The kinds of requests, each with its number per second. */
const REQUESTS: readonly { perSecond: number; of(client: SoakClient): SoakRequest }[] = [
  {
    perSecond: 30,
    of: ({ number }) => ({ path: "/platform/webhook", status: 200, init: webhookBody(number, 1) }),
  },
  {
    perSecond: 20,
    of: ({ channelId, headers }) => ({
      path: "/api/outbound/send",
      status: 202,
      init: {
        method: "POST",
        headers,
        body: JSON.stringify({
          channel_id: channelId,
          to: `55119${randomInt(10_000_000, 99_999_999)}`,
          type: "text",
          text: { body: "Your order has been shipped." },
        }),
      },
    }),
  },
  { perSecond: 5, of: ({ headers }) => ({ path: "/api/webhooks/events", status: 200, init: { headers } }) },
  {
    perSecond: 5,
    of: ({ headers }) => ({ path: "/api/outbound/messages", status: 200, init: { headers } }),
  },
];

async function send(origin: string, { path, status, init }: SoakRequest): Promise<void> {
  const reply = await fetch(origin + path, init);
  const text = await reply.text();
  if (reply.status !== status) throw new Error(`${path} answered ${reply.status}: ${text}`);
}

/** Starts Herald's processes and requests of all kinds; `stop` waits until everything is delivered. */
export async function startMixedLoad(context: BenchContext) {
  const [backend, platform] = [
    await startReceiver(context, "backend"),
    await startReceiver(context, "platform"),
  ];
  const clients = await makeSoakClients(context, backend.port);
  const settings = { CHAT_PLATFORM_URL: `http://127.0.0.1:${platform.port}/v26.0` };
  const web = await startWeb(context, settings);
  const [dispatcher, scheduler] = [
    await startHerald(context, "dispatcher", /process\.ready/, settings),
    await startHerald(context, "scheduler", /process\.ready/, settings),
  ];
  const load = runLoad(web.origin, clients);
  load.ended.catch(context.fail);
  return {
    pids: { web: web.pid, dispatcher: dispatcher.pid, scheduler: scheduler.pid },
    async stop() {
      load.stop();
      await load.ended;
      await untilDelivered(context);
    },
  };
}

/** Sends each kind of request at its rate, for each client in turn. */
function runLoad(origin: string, clients: readonly SoakClient[]) {
  let isStopped = false;
  const run = async ({ perSecond, of }: (typeof REQUESTS)[number]) => {
    for (let count = 0; !isStopped; count++) {
      await Promise.all([
        send(origin, of(clients[count % clients.length] as SoakClient)),
        sleep(1_000 / perSecond),
      ]);
    }
  };
  return {
    ended: Promise.all(REQUESTS.map(run)),
    stop() {
      isStopped = true;
    },
  };
}

const COUNT_UNDELIVERED = `
  select (
    (select count(*) from deliveries where state <> 'delivered') + (select count(*) from sends)
  )::integer as count`;

const untilDelivered = ({ db }: BenchContext) =>
  until("everything is delivered and sent", async () => {
    const [row] = await db.query<{ count: number }>(COUNT_UNDELIVERED);
    return row?.count === 0;
  });
