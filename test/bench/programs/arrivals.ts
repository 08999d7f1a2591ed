import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { monotonicMs } from "../clock.ts";

/** Times of the requests by what they are about, in the order of their first arrival. */
export type ArrivalTimes = readonly (readonly [key: string, times: readonly number[]])[];

export interface Arrivals {
  record(key: string): void;
  /** Answers a call of the benchmark's process: /control/reset, /control/wait/<count>, /control/arrivals. */
  control(path: string, response: ServerResponse): void;
}

/** Records requests. `wait` answers once that many have arrived since the reset, with the time of the last one. */
export function createArrivals(): Arrivals {
  const times = new Map<string, number[]>();
  let [count, wanted] = [0, Number.POSITIVE_INFINITY];
  let waiter: ServerResponse | undefined;
  const answer = (response: ServerResponse, value: unknown) => void response.end(JSON.stringify(value));

  function wait(response: ServerResponse, number: number): void {
    if (count >= number) answer(response, monotonicMs());
    else [waiter, wanted] = [response, number];
  }

  return {
    record(key) {
      const at = monotonicMs();
      const known = times.get(key);
      if (known) known.push(at);
      else times.set(key, [at]);
      count += 1;
      if (count < wanted || !waiter) return;
      answer(waiter, at);
      [waiter, wanted] = [undefined, Number.POSITIVE_INFINITY];
    },
    control(path, response) {
      const [command, number] = path.split("/").slice(2);
      if (command === "wait") return wait(response, Number(number));
      if (command === "arrivals") return answer(response, [...times]);
      times.clear();
      count = 0;
      answer(response, null);
    },
  };
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** Serves requests whose bodies are complete, and prints the port. */
export function serve(arrivals: Arrivals, answer: Answer): void {
  const listener: RequestListener = (request, response) => {
    request.resume().on("end", () => {
      const path = request.url ?? "";
      if (path.startsWith("/control/")) arrivals.control(path, response);
      else answer(request, response);
    });
  };
  const server = createServer(listener);
  server.keepAliveTimeout = 60_000;
  // All loopback addresses, so that each client can have an origin of its own.
  server.listen(0, "0.0.0.0", () => {
    process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
  });
}
