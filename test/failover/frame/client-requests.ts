import { randomUUID } from "node:crypto";
import { createKey } from "../../../src/domain/tenants/api-keys.ts";
import { textMessage } from "../../fixtures/messages/messages.ts";
import { pageWebhook, signWebhook } from "../../fixtures/platforms/webhooks.ts";
import { makeActor } from "../../fixtures/tenants/actors.ts";
import type { Deployment } from "./deployment.ts";
import type { AddedMessages, Population } from "./load.ts";
import { type OutgoingRequest, type RequestKind, type RequestTraffic, startRequests } from "./requests.ts";

/** A channel and the headers of a key that may use it. */
interface Sender {
  channelId: string;
  headers: Record<string, string>;
}

async function createSenders({ db, clients }: Population): Promise<Sender[]> {
  const senders = clients.map(async ({ id, channelId }) => {
    if (channelId === undefined) return [];
    const input = { name: "k", scopes: ["messages:send"], expiresAt: null, production: false } as const;
    const { text } = await createKey(db, makeActor(id), input);
    return [{ channelId, headers: { "x-svc-api-key": text } }];
  });
  return (await Promise.all(senders)).flat();
}

/** What clients and a platform send to the web processes, and the messages that came of it. */
export interface ClientRequests extends RequestTraffic {
  added: AddedMessages;
}

/** Sends reads, messages and webhooks through a load balancer that knows the running web processes. */
export async function startClientRequests(
  population: Population,
  deployment: Deployment,
): Promise<ClientRequests> {
  const senders = await createSenders(population);
  const senderOf = (number: number) => senders[number % senders.length] as Sender;
  const sent = new Map<string, string[]>(senders.map(({ channelId }) => [channelId, []]));
  const received: string[] = [];
  const read: RequestKind = {
    name: "read",
    ...{ perSecond: 120, status: 200 },
    make: (number) => ({ method: "GET", path: "/api/channels", headers: senderOf(number).headers }),
  };
  const send: RequestKind = {
    name: "send",
    ...{ perSecond: 30, status: 202 },
    make: (number) => toSend(senderOf(number), number),
    onReply: (number, text) => sent.get(senderOf(number).channelId)?.push(JSON.parse(text).message_id),
  };
  const pages = population.clients.map(({ pageId }) => pageId);
  const webhook: RequestKind = {
    name: "webhook",
    ...{ perSecond: 50, status: 200 },
    make: (number) => toWebhook(pages[number % pages.length] as string, messageOf(number)),
    onReply: (number) => received.push(messageOf(number)),
  };
  const traffic = startRequests({ kinds: [read, send, webhook], addresses: deployment.addresses });
  return { ...traffic, added: { received, sent } };
}

const messageOf = (number: number): string => `request_${number}`;

/** Each message goes to another person, so that none waits for another one. */
function toSend({ channelId, headers }: Sender, number: number): OutgoingRequest {
  const body = JSON.stringify(textMessage(channelId, { to: String(5531900000000 + number) }));
  return withBody("/api/outbound/send", { ...headers, "idempotency-key": randomUUID() }, body);
}

function toWebhook(page: string, message: string): OutgoingRequest {
  const body = pageWebhook(page, [message]);
  return withBody("/platform/webhook", { "x-hub-signature-256": signWebhook(body) }, body);
}

const withBody = (path: string, headers: Record<string, string>, body: string): OutgoingRequest => ({
  ...{ method: "POST", path, body },
  headers: {
    ...headers,
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
  },
});

/** The failed requests, each with its time relative to SIGTERM of its process. */
export const describeFailures = ({ failures }: RequestTraffic, deployment: Deployment): string[] =>
  failures.map(({ kind, address, at, reason }) => {
    const web = deployment.members("web").find((member) => member.web?.address === address);
    const since = web?.signalledAt === undefined ? "before" : `${at - web.signalledAt} ms after`;
    return `${kind} to ${web?.name ?? address}: ${reason}, ${since} SIGTERM`;
  });
