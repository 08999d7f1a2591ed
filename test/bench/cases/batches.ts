import { randomUUID } from "node:crypto";
import { MAX_BATCH_MESSAGES } from "../../../src/schema/batches.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import type { BenchCase, Contestant } from "../frame/case.ts";
import { makeClient } from "../frame/clients.ts";
import type { BenchContext } from "../frame/context.ts";
import { rowCounter } from "../frame/count-rows.ts";
import { serverProcesses } from "../frame/cpu.ts";
import { startWeb, type WebProcess } from "../frame/processes.ts";
import { buildRequest } from "../load/connection.ts";
import { httpContestant } from "../load/http-contestant.ts";
import { randomPhone, startHeraldIntake, startIntakePeer, TEXT } from "./intake.ts";

/** As many messages as a round of single messages has. */
const [ROUND_BATCHES, SMOKE_MESSAGES] = [8, 20];
const [BATCH_CALLERS, SINGLE_CALLERS] = [4, 64];

/** No batch ends, because there is no dispatcher: the client of each caller stays below its limit. */
async function makeSenders(context: BenchContext) {
  return Promise.all(
    Array.from({ length: BATCH_CALLERS }, async () => {
      const client = await makeClient(context, ["messages:send"]);
      return { key: client.key, channelId: await makeChannel(context, client) };
    }),
  );
}

async function startBatches(context: BenchContext, web: WebProcess): Promise<Contestant> {
  const senders = await makeSenders(context);
  const itemsPerRequest = context.isSmokeTest ? SMOKE_MESSAGES : MAX_BATCH_MESSAGES;
  const makeRequest = (_: unknown, index: number) => {
    const { key, channelId } = senders[index % senders.length] as (typeof senders)[number];
    const messages = Array.from({ length: itemsPerRequest }, () => ({ to: randomPhone() }));
    const body = { channel_id: channelId, type: "text", text: TEXT, messages };
    const headers = { "x-svc-api-key": key, "idempotency-key": randomUUID() };
    return buildRequest("/api/outbound/batches", headers, JSON.stringify(body));
  };
  return httpContestant({
    name: "herald",
    target: { origin: web.origin, status: 202 },
    callers: BATCH_CALLERS,
    processes: { web: web.pid, ...(await serverProcesses(context)) },
    makeRequests: () => Array.from({ length: context.count(ROUND_BATCHES, 1) }, makeRequest),
    itemsPerRequest,
    countItems: rowCounter(context, "messages"),
  });
}

async function start(context: BenchContext): Promise<Contestant[]> {
  const web = await startWeb(context);
  const singles = await startHeraldIntake(context, SINGLE_CALLERS, web);
  return [
    await startBatches(context, web),
    { ...singles, name: "single-sends" },
    await startIntakePeer(context, SINGLE_CALLERS, "express"),
  ];
}

/** Accepting messages in batches of 1,000, beside the same number of single messages. */
export const BATCHES: BenchCase = {
  name: "batches",
  variants: [
    {
      name: "1000",
      isInSmokeTest: true,
      measures: [{ value: "rate", unit: "messages/s", better: "higher", targets: { "single-sends": 5 } }],
      start,
    },
  ],
};
