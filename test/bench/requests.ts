import { randomUUID } from "node:crypto";
import { acceptTerms } from "../../src/domain/tenants/terms.ts";
import { DAY } from "../../src/runtime/durations.ts";
import { firstIdAt } from "../../src/runtime/ids.ts";
import { MAX_BATCH_MESSAGES } from "../../src/schema/batches.ts";
import { configureWebhook } from "../fixtures/events/events.ts";
import { imageOfSize, MIB } from "../fixtures/images/images.ts";
import { makeActor } from "../fixtures/tenants/actors.ts";
import { grantAdAccount } from "../fixtures/tenants/ad-accounts.ts";
import { newPlatformId } from "../fixtures/tenants/channels.ts";
import type { Contestant, Work } from "./case.ts";
import { type BenchContext, type PeerName, startHerald, startPeer } from "./context.ts";
import { buildRequest, probeDuring, sendClosedLoop, sendOpenLoop, type Target } from "./load.ts";
import { findHistoryClient } from "./stored-rows.ts";
import {
  type Channel,
  MESSAGE_TEXT,
  makeChatChannel,
  makeKeyHeader,
  makeMessage,
  makeWebhook,
  randomPhone,
  repeat,
} from "./tenants.ts";
import { maxRssDuring, type ProcessIds, startCpuCount } from "./usage.ts";

/** A server that stores what callers send to it. */
interface Server {
  target: Target;
  processes: ProcessIds;
  /** Starts to count stored items; the returned function returns the number of those stored since. */
  countStored(): Promise<() => Promise<number>>;
}

async function startWeb(context: BenchContext, status: number) {
  const web = await startHerald(context, "web");
  return {
    target: { origin: web.origin, status },
    processes: { web: web.pid, ...context.servers },
  };
}

/** Counts the rows of these clients whose ids are new: a scan of the whole table would take longer in each round. */
const rowCounter =
  ({ db }: BenchContext, table: "events" | "messages", clientIds: readonly string[]) =>
  async () => {
    const firstId = firstIdAt(table === "events" ? "evt" : "msg", Date.now());
    const statement = `select count(*)::integer as count from ${table} where client_id = any($1::uuid[]) and id >= $2`;
    return async () => {
      const [row] = await db.query<{ count: number }>(statement, [clientIds, firstId]);
      return row?.count ?? 0;
    };
  };

/** Starts a peer that stores items in a table with ascending numbers as ids. */
async function startPeerServer(
  context: BenchContext,
  peer: PeerName,
  { table, status, env = {} }: { table: string; status: number; env?: Record<string, string> },
): Promise<Server> {
  const { pid, origin } = await startPeer(context, peer, env);
  const read = async (statement: string, values: unknown[] = []) => {
    const [row] = await context.db.query<{ number: number }>(statement, values);
    return row?.number ?? 0;
  };
  return {
    target: { origin, status },
    processes: { peer: pid, ...context.servers },
    async countStored() {
      const last = await read(`select coalesce(max(id), 0)::integer as number from ${table}`);
      return () => read(`select count(*)::integer as number from ${table} where id > $1`, [last]);
    },
  };
}

interface Round {
  callers: number;
  itemsPerRequest: number;
  makeRequests(): readonly Buffer[];
}

/** A contestant that stores what callers send to it without pause. Measures `rate` and `p99`. */
const storingContestant = (
  server: Server,
  { callers, itemsPerRequest, makeRequests }: Round,
): Contestant => ({
  async run() {
    const requests = makeRequests();
    const items = requests.length * itemsPerRequest;
    const counted = await server.countStored();
    const toSample = startCpuCount(server.processes);
    const { seconds, p99 } = await sendClosedLoop(server.target, callers, requests);
    const sample = toSample(items, { rate: items / seconds, p99 });
    verifyStored(await counted(), items);
    return sample;
  },
});

function verifyStored(stored: number, items: number): void {
  if (stored !== items) throw new Error(`${stored} of ${items} items are stored`);
}

const sendRequest = (path: string, headers: Record<string, string>, body: string) =>
  buildRequest({
    path,
    headers: { ...headers, "content-type": "application/json", "idempotency-key": randomUUID() },
    body,
  });

const PEER_KEY = { "x-svc-api-key": "key-of-the-peer" };

/** POST /api/outbound/send, answered after the commit. */
export const messages =
  ({ count, callers }: { count: number; callers: number }): Work =>
  async (context, peer) => {
    const channel = await makeChatChannel(context);
    const makeRequests = (path: string, headers: Record<string, string>) => () =>
      repeat(context.count(count), () => sendRequest(path, headers, makeMessage(channel.id)));
    const round = { callers, itemsPerRequest: 1 };
    if (peer) {
      const env = { API_KEY: PEER_KEY["x-svc-api-key"] };
      const server = await startPeerServer(context, peer, { table: "peer_messages", status: 202, env });
      return storingContestant(server, { ...round, makeRequests: makeRequests("/send", PEER_KEY) });
    }
    const key = await makeKeyHeader(context, channel.clientId, "messages:send");
    const web = await startWeb(context, 202);
    const server = { ...web, countStored: rowCounter(context, "messages", [channel.clientId]) };
    return storingContestant(server, { ...round, makeRequests: makeRequests("/api/outbound/send", key) });
  };

/** POST /api/outbound/batches with the most messages that one may have. */
export const batches =
  ({ count, callers }: { count: number; callers: number }): Work =>
  async (context) => {
    // No batch ends, because there is no dispatcher: the client of each caller stays below its limit.
    const channels = await Promise.all(repeat(callers, () => makeChatChannel(context)));
    const keys = await Promise.all(
      channels.map(({ clientId }) => makeKeyHeader(context, clientId, "messages:send")),
    );
    const itemsPerRequest = context.count(MAX_BATCH_MESSAGES);
    const makeRequest = (index: number) => {
      const recipients = repeat(itemsPerRequest, () => ({ to: randomPhone() }));
      const channel = channels[index % callers] as Channel;
      const content = { type: "text", text: { body: MESSAGE_TEXT }, messages: recipients };
      const body = JSON.stringify({ channel_id: channel.id, ...content });
      return sendRequest("/api/outbound/batches", keys[index % callers] ?? {}, body);
    };
    const clientIds = channels.map(({ clientId }) => clientId);
    const server = {
      ...(await startWeb(context, 202)),
      countStored: rowCounter(context, "messages", clientIds),
    };
    const makeRequests = () => repeat(context.count(count), makeRequest);
    return storingContestant(server, { callers, itemsPerRequest, makeRequests });
  };

/** One size of webhooks. */
interface WebhookLoad {
  updates: number;
  callers: number;
  /** Webhooks per round. */
  count: number;
}

const CLIENTS = 20;

/** Starts a server that accepts webhooks, with the requests of a round; all their updates are new. */
async function startEndpoint(context: BenchContext, { updates, count }: WebhookLoad, peer?: PeerName) {
  const channels = await Promise.all(repeat(CLIENTS, () => makeChatChannel(context)));
  const makeRequests = () =>
    repeat(context.count(count), (index) =>
      buildRequest(makeWebhook(channels[index % CLIENTS] as Channel, updates)),
    );
  if (peer) {
    const { PLATFORM_APP_SECRET } = context.config;
    const options = { table: "peer_updates", status: 200, env: { PLATFORM_APP_SECRET } };
    return { server: await startPeerServer(context, peer, options), makeRequests };
  }
  // With a webhook_url, the events have to be delivered.
  for (const { clientId } of channels) await configureWebhook(context, { id: clientId });
  const clientIds = channels.map(({ clientId }) => clientId);
  const server = { ...(await startWeb(context, 200)), countStored: rowCounter(context, "events", clientIds) };
  return { server, makeRequests };
}

/** POST /platform/webhook, answered after every update is committed. */
export const webhooks =
  (load: WebhookLoad): Work =>
  async (context, peer) => {
    const { server, makeRequests } = await startEndpoint(context, load, peer);
    return storingContestant(server, { callers: load.callers, itemsPerRequest: load.updates, makeRequests });
  };

/**
 * Measures the capacity in each round and then sends webhooks at half of it, at times that do not depend on the answers:
 * a slow answer does not delay the next webhook, as with the platform. Measures `p99` of the answers.
 */
export const webhooksAtHalfLoad =
  (load: WebhookLoad): Work =>
  async (context) => {
    const { server, makeRequests } = await startEndpoint(context, load);
    const round = storingContestant(server, { ...load, itemsPerRequest: load.updates, makeRequests });
    return {
      async run() {
        const { values } = await round.run();
        const requests = makeRequests();
        const rate = (values.rate as number) / 2;
        const counted = await server.countStored();
        const toSample = startCpuCount(server.processes);
        const { p99 } = await sendOpenLoop(server.target, rate / load.updates, requests);
        const items = requests.length * load.updates;
        const sample = toSample(items, { p99, rate });
        verifyStored(await counted(), items);
        return sample;
      },
    };
  };

const PAGE_SIZE = 25;
const RETRY_DAYS = 28;

/** Reads of the API, and what their answers must have. */
const READS = {
  "events-page": () => ({ method: "GET", path: `/api/webhooks/events?limit=${PAGE_SIZE}` }),
  "messages-page": () => ({ method: "GET", path: `/api/outbound/messages?limit=${PAGE_SIZE}` }),
  "retry-dry-run": () => ({
    path: "/api/webhooks/events/retry",
    body: JSON.stringify({ since: new Date(Date.now() - RETRY_DAYS * DAY).toISOString(), dry_run: true }),
  }),
};

/** Reads one after another by a client that has much history. Measures `p50`. */
export const reads =
  ({ read, count }: { read: keyof typeof READS; count: number }): Work =>
  async (context) => {
    const clientId = await findHistoryClient(context);
    const key = await makeKeyHeader(context, clientId, "webhooks:manage", "messages:send");
    const { target, processes } = await startWeb(context, read === "retry-dry-run" ? 202 : 200);
    const headers = { ...key, "content-type": "application/json" };
    return {
      async run() {
        await verifyRead(target, headers, READS[read]());
        const requests = repeat(context.count(count, 2), () => buildRequest({ headers, ...READS[read]() }));
        const toSample = startCpuCount(processes);
        const { p50 } = await sendClosedLoop(target, 1, requests);
        return toSample(requests.length, { p50 });
      },
    };
  };

/** Throws unless the answer has a full page, or events to retry: an empty one would be fast. */
async function verifyRead(
  { origin }: Target,
  headers: Record<string, string>,
  { path, body, method = "POST" }: { path: string; body?: string; method?: string },
): Promise<void> {
  const reply = await fetch(origin + path, { method, headers, ...(body ? { body } : {}) });
  const { data, queued } = (await reply.json()) as { data?: unknown[]; queued?: number };
  if (data?.length !== PAGE_SIZE && !queued) throw new Error(`${path} answered ${reply.status} with no rows`);
}

/** POST /api/marketing/images by several callers. Measures `p99` of small requests meanwhile, and the largest `memory`. */
export const uploads =
  ({ count, callers, mebibytes }: { count: number; callers: number; mebibytes: number }): Work =>
  async (context, peer) => {
    const { clientId } = await makeChatChannel(context);
    const owner = { id: "usr_bench", name: "Bench", email: null, role: "owner" } as const;
    await acceptTerms(context.db, makeActor(clientId), owner);
    const { adAccountId } = await grantAdAccount(context, { id: clientId }, { accountId: newPlatformId() });
    const headers = await makeKeyHeader(context, clientId, "marketing:manage");
    const body = JSON.stringify({ ad_account_id: adAccountId, bytes_base64: imageOfSize(mebibytes * MIB) });
    const platform = await startPeer(context, "express");
    const settings = { AD_PLATFORM_URL: `${platform.origin}/platform/v26.0` };
    const [server, paths] = peer
      ? [await startPeer(context, peer, settings), { small: "/me", upload: "/images" }]
      : [
          await startHerald(context, "web", settings),
          { small: "/api/auth/me", upload: "/api/marketing/images" },
        ];
    const json = { ...headers, "content-type": "application/json" };
    const upload = buildRequest({ path: paths.upload, headers: json, body });
    const small = buildRequest({ method: "GET", path: paths.small, headers });
    const processes = { [peer ? "peer" : "web"]: server.pid, ...context.servers };
    const target = { origin: server.origin, status: 200 };
    return {
      async run() {
        const requests = repeat(context.count(count, 2), () => upload);
        const toSample = startCpuCount(processes);
        const sending = () => maxRssDuring(server.pid, sendClosedLoop(target, callers, requests));
        const [[, memory], { p99 }] = await probeDuring(target, small, sending);
        return toSample(requests.length, { p99, memory });
      },
    };
  };
