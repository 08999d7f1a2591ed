/**
 * The backend of all clients, or a chat platform that accepts every message after 50 ms: the first argument is the role. It
 * does as little as possible per request, because it shares the processor with the contestants.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Milliseconds until the answer of the platform and the `slow` one of a backend, and between two bytes of the `drip` one. */
const [PLATFORM_ANSWER_MS, SLOW_ANSWER_MS, DRIP_INTERVAL_MS] = [50, 100, 1_000];

/** Times of the requests on the monotonic clock of the machine, by what they are about. */
const times = new Map<string, number[]>();
let [count, wanted] = [0, Number.POSITIVE_INFINITY];
let waiter: ServerResponse | undefined;
/** Requests without a complete answer. */
const open = new Set<ServerResponse>();

const answerJson = (response: ServerResponse, value: unknown) => void response.end(JSON.stringify(value));

function record(key: string): void {
  const at = Number(process.hrtime.bigint()) / 1e6;
  const known = times.get(key);
  if (known) known.push(at);
  else times.set(key, [at]);
  count += 1;
  if (count < wanted || !waiter) return;
  answerJson(waiter, null);
  [waiter, wanted] = [undefined, Number.POSITIVE_INFINITY];
}

/** Calls of the benchmark's process. */
const COMMANDS: Record<string, (response: ServerResponse, argument: string) => void> = {
  reset(response) {
    times.clear();
    count = 0;
    answerJson(response, null);
  },
  release(response) {
    for (const one of open) one.destroy();
    answerJson(response, null);
  },
  wait(response, argument) {
    if (count >= Number(argument)) answerJson(response, null);
    else [waiter, wanted] = [response, Number(argument)];
  },
  arrivals: (response) => answerJson(response, [...times]),
};

function hold(response: ServerResponse): void {
  open.add(response);
  response.on("close", () => open.delete(response));
}

function drip(response: ServerResponse): void {
  hold(response);
  response.writeHead(200, { "content-type": "text/plain" });
  const timer = setInterval(() => response.write("."), DRIP_INTERVAL_MS);
  response.on("close", () => clearInterval(timer));
}

const accept = (response: ServerResponse) => void response.writeHead(200).end();

/** How a backend answers, by the first part of the path. */
const MODES: Record<string, (response: ServerResponse) => void> = {
  ok: accept,
  slow: (response) => void setTimeout(accept, SLOW_ANSWER_MS, response),
  error: (response) => void response.writeHead(500).end(),
  hang: hold,
  drip,
};

/** Only events that are accepted are recorded. */
function answerEvent({ url = "", headers }: IncomingMessage, response: ServerResponse): void {
  const [, mode = ""] = url.split("/", 2);
  if (mode === "ok" || mode === "slow") record(String(headers["webhook-id"]));
  MODES[mode]?.(response);
}

let lastMessage = 0;

function answerMessage({ url = "" }: IncomingMessage, response: ServerResponse): void {
  record(url.split("/").at(-2) ?? ""); // the phone number
  const messages = [{ id: `wamid.${process.pid}.${++lastMessage}` }];
  response.setHeader("content-type", "application/json");
  setTimeout(answerJson, PLATFORM_ANSWER_MS, response, {
    messaging_product: "whatsapp",
    contacts: [],
    messages,
  });
}

const answer = process.argv[2] === "platform" ? answerMessage : answerEvent;
const server = createServer((request, response) => {
  request.resume().on("end", () => {
    const [, control, command = "", argument = ""] = (request.url ?? "").split("/");
    if (control === "control") COMMANDS[command]?.(response, argument);
    else answer(request, response);
  });
});
server.keepAliveTimeout = 60_000;
// All loopback addresses, so that each client can have an origin of its own.
server.listen(0, "0.0.0.0", () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
