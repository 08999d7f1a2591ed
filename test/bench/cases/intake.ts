import { randomInt, randomUUID } from "node:crypto";
import { newId } from "../../../src/runtime/ids.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import type { BenchCase, Contestant, Variant } from "../frame/case.ts";
import { makeClient } from "../frame/clients.ts";
import type { BenchContext } from "../frame/context.ts";
import { rowCounter } from "../frame/count-rows.ts";
import { serverProcesses } from "../frame/cpu.ts";
import { startProgram, startWeb, type WebProcess } from "../frame/processes.ts";
import { buildRequest } from "../load/connection.ts";
import { httpContestant } from "../load/http-contestant.ts";

export const TEXT = { body: "Your order has been shipped and will arrive on Monday." };
const [ROUND_MESSAGES, SMOKE_MESSAGES] = [8_000, 20];

export const randomPhone = () => `55119${randomInt(10_000_000, 99_999_999)}`;

/** Requests to send a text message, each with its own Idempotency-Key. */
function sendRequests(
  context: BenchContext,
  path: string,
  { key, channelId }: { key: string; channelId: string },
): Buffer[] {
  return Array.from({ length: context.count(ROUND_MESSAGES, SMOKE_MESSAGES) }, () => {
    const headers = {
      "x-svc-api-key": key,
      "idempotency-key": randomUUID(),
      "content-type": "application/json",
    };
    const body = { channel_id: channelId, to: randomPhone(), type: "text", text: TEXT };
    return buildRequest(path, headers, JSON.stringify(body));
  });
}

/** The peers: program and table. */
const PEERS = {
  express: { file: "peers/express-send", table: "express_messages" },
  "express-complete": { file: "peers/express-send-complete", table: "express_complete_messages" },
  fastify: { file: "peers/fastify-send", table: "fastify_messages" },
} as const;

type PeerName = keyof typeof PEERS;

/** Herald's contestant; the database may already have rows, and web may run already. */
export async function startHeraldIntake(
  context: BenchContext,
  callers: number,
  runningWeb?: WebProcess,
): Promise<Contestant> {
  const client = await makeClient(context, ["messages:send"]);
  const options = { key: client.key, channelId: await makeChannel(context, client) };
  const [web, servers] = [runningWeb ?? (await startWeb(context)), await serverProcesses(context)];
  return httpContestant({
    name: "herald",
    target: { origin: web.origin, status: 202 },
    callers,
    processes: { web: web.pid, ...servers },
    makeRequests: () => sendRequests(context, "/api/outbound/send", options),
    itemsPerRequest: 1,
    countItems: rowCounter(context, "messages"),
  });
}

const PEER_KEY = "key-of-the-peer";
const PEER_OPTIONS = { key: PEER_KEY, channelId: newId("ch") };

export async function startIntakePeer(
  context: BenchContext,
  callers: number,
  name: PeerName,
): Promise<Contestant> {
  const { file, table } = PEERS[name];
  const { pid, origin } = await startProgram(context, file, { API_KEY: PEER_KEY, TABLE: table });
  return httpContestant({
    name,
    target: { origin, status: 202 },
    callers,
    processes: { peer: pid, ...(await serverProcesses(context)) },
    makeRequests: () => sendRequests(context, "/send", PEER_OPTIONS),
    itemsPerRequest: 1,
    countItems: rowCounter(context, table),
  });
}

function variant(callers: number, targets: Partial<Record<PeerName, number>>): Variant {
  const peers = Object.keys(targets) as PeerName[];
  return {
    name: String(callers),
    isInSmokeTest: peers.length === Object.keys(PEERS).length,
    measures: [
      { value: "rate", unit: "messages/s", better: "higher", targets },
      {
        value: "p99",
        suffix: "p99",
        unit: "ms",
        better: "lower",
        peers: ["express"],
        targets: { express: 1 },
      },
    ],
    start: (context) =>
      Promise.all([
        startHeraldIntake(context, callers),
        ...peers.map((name) => startIntakePeer(context, callers, name)),
      ]),
  };
}

/** Accepting messages to send: POST /api/outbound/send, answered after the commit. */
export const INTAKE: BenchCase = {
  name: "intake",
  variants: [
    variant(16, { express: 1.2, "express-complete": 3.5 }),
    variant(64, { express: 2, "express-complete": 3.5, fastify: 1 }),
    variant(128, { express: 2, "express-complete": 3.5 }),
  ],
};
