import { Agent, request as openRequest } from "node:http";
import { SECOND } from "../../../src/runtime/durations.ts";

/** A client that sends requests at a constant rate and repeats none, except those whose connection is refused. */

export interface OutgoingRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string;
}

export interface RequestKind {
  name: string;
  perSecond: number;
  /** The expected status. */
  status: number;
  make(number: number): OutgoingRequest;
  /** Called with each expected reply. */
  onReply?(number: number, text: string): void;
}

export interface RequestFailure {
  kind: string;
  address: string;
  at: number;
  /** Status and body, or the error of the connection. */
  reason: string;
}

export interface RequestTraffic {
  failures: readonly RequestFailure[];
  /** Requests with the expected reply. */
  succeeded(): number;
  /** Refused connections, after which another address was tried. */
  refused(): number;
  /** Sends no further requests and waits for the open ones. */
  stop(): Promise<void>;
}

interface RequestOptions {
  kinds: readonly RequestKind[];
  /** The addresses for the next request, in the order in which they are tried. */
  addresses(): readonly string[];
}

/** A stalled machine must not collect requests. */
const MAX_OPEN_REQUESTS = 100;

export function startRequests({ kinds, addresses }: RequestOptions): RequestTraffic {
  const agent = new Agent({ keepAlive: true });
  const failures: RequestFailure[] = [];
  const open = new Set<Promise<void>>();
  let [succeeded, refused] = [0, 0];

  async function send(kind: RequestKind, number: number): Promise<void> {
    const request = kind.make(number);
    for (const address of addresses()) {
      const { status, text } = await exchange(agent, address, request);
      if (status === REFUSED) {
        refused += 1;
        continue;
      }
      if (status === kind.status) {
        succeeded += 1;
        kind.onReply?.(number, text);
      } else failures.push({ kind: kind.name, address, at: Date.now(), reason: `${status} ${text}` });
      return;
    }
    failures.push({ kind: kind.name, address: "every web", at: Date.now(), reason: REFUSED });
  }

  const timers = kinds.map((kind) => {
    let count = 0;
    return setInterval(() => {
      if (open.size >= MAX_OPEN_REQUESTS) return;
      const sent = send(kind, count++).finally(() => open.delete(sent));
      open.add(sent);
    }, SECOND / kind.perSecond);
  });

  return {
    failures,
    succeeded: () => succeeded,
    refused: () => refused,
    async stop() {
      for (const timer of timers) clearInterval(timer);
      await Promise.all(open);
      agent.destroy();
    },
  };
}

const REFUSED = "ECONNREFUSED";

interface Exchange {
  /** The status of the reply, or the code of the connection's error. */
  status: number | string;
  text: string;
}

const REQUEST_TIMEOUT_MS = 30 * SECOND;

/** Sends the request once: Node's client repeats nothing by itself. */
function exchange(agent: Agent, address: string, { body, ...outgoing }: OutgoingRequest): Promise<Exchange> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    const request = openRequest(address, { ...outgoing, signal, agent });
    const fail = (error: Error & { code?: string }) =>
      resolve({
        status: error.code ?? error.name,
        text: `on a ${request.reusedSocket ? "used" : "new"} connection`,
      });
    request.on("error", fail);
    request.on("response", (response) => {
      const status = response.statusCode as number;
      response.toArray().then((chunks) => resolve({ status, text: Buffer.concat(chunks).toString() }), fail);
    });
    request.end(body);
  });
}
