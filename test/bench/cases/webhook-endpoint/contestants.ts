import { createClient } from "../../../../src/store/tenants/clients.ts";
import { configureWebhook } from "../../../fixtures/events/events.ts";
import { makeChannel, newPlatformId } from "../../../fixtures/tenants/channels.ts";
import type { Contestant } from "../../frame/case.ts";
import type { BenchContext } from "../../frame/context.ts";
import { rowCounter } from "../../frame/count-rows.ts";
import { serverProcesses } from "../../frame/cpu.ts";
import { startProgram, startWeb, type WebProcess } from "../../frame/processes.ts";
import { httpContestant } from "../../load/http-contestant.ts";
import { type ChatNumber, webhookRequest } from "./webhooks.ts";

/** One size of webhooks. */
export interface EndpointLoad {
  updates: number;
  /** Webhooks that the platform has open at a time. */
  callers: number;
  /** Webhooks per round. */
  bodies: number;
}

const [CLIENTS, SMOKE_CLIENTS] = [20, 2];

/** Clients with a number and a webhook_url, so that their events have to be delivered. */
async function makeNumbers(context: BenchContext): Promise<ChatNumber[]> {
  const ids = { length: context.isSmokeTest ? SMOKE_CLIENTS : CLIENTS };
  const numbers = Array.from(ids, () => ({ phoneNumberId: newPlatformId(), wabaId: newPlatformId() }));
  for (const number of numbers) {
    const client = await createClient(context.db, "Bench");
    await configureWebhook(context, client);
    await makeChannel(context, client, number);
  }
  return numbers;
}

const SMOKE_BODIES = 4;

/** The webhooks of a round; all their updates are new. */
export function makeWebhooks(
  context: BenchContext,
  numbers: readonly ChatNumber[],
  load: EndpointLoad,
): Buffer[] {
  const count = context.count(load.bodies, SMOKE_BODIES);
  const numberAt = (index: number) => numbers[index % numbers.length] as ChatNumber;
  return Array.from({ length: count }, (_, index) => webhookRequest(numberAt(index), load.updates));
}

/** Herald's web process and the numbers whose webhooks it accepts. */
export async function startHeraldEndpoint(context: BenchContext, runningWeb?: WebProcess) {
  const numbers = await makeNumbers(context);
  const [web, servers] = [runningWeb ?? (await startWeb(context)), await serverProcesses(context)];
  return { numbers, target: { origin: web.origin, status: 200 }, processes: { web: web.pid, ...servers } };
}

/** Herald's contestant; the database may already have rows, and web may run already. */
export async function heraldContestant(
  context: BenchContext,
  load: EndpointLoad,
  runningWeb?: WebProcess,
): Promise<Contestant> {
  const { numbers, ...herald } = await startHeraldEndpoint(context, runningWeb);
  return httpContestant({
    name: "herald",
    ...herald,
    callers: load.callers,
    makeRequests: () => makeWebhooks(context, numbers, load),
    itemsPerRequest: load.updates,
    countItems: rowCounter(context, "events"),
  });
}

/** The names of the peers and how each inserts. */
export const PEERS = {
  express: "single",
  "express-transaction": "transaction",
  "express-multi-row": "multi-row",
} as const;

export type PeerName = keyof typeof PEERS;

const PEER_NUMBER = { phoneNumberId: newPlatformId(), wabaId: newPlatformId() };

export async function peerContestant(
  context: BenchContext,
  load: EndpointLoad,
  name: PeerName,
): Promise<Contestant> {
  const table = `${name.replaceAll("-", "_")}_updates`;
  const { PLATFORM_APP_SECRET } = context.config;
  const env = { TABLE: table, INSERT: PEERS[name], PLATFORM_APP_SECRET };
  const { pid, origin } = await startProgram(context, "peers/express-webhook", env);
  return httpContestant({
    name,
    target: { origin, status: 200 },
    callers: load.callers,
    processes: { peer: pid, ...(await serverProcesses(context)) },
    makeRequests: () => makeWebhooks(context, [PEER_NUMBER], load),
    itemsPerRequest: load.updates,
    countItems: rowCounter(context, table),
  });
}
