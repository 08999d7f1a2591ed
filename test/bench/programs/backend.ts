/**
 * The backend of all clients, as a separate process. The first part of the path decides how it answers. It does as little
 * as possible per request, because it shares the processor with the contestants.
 */
import type { ServerResponse } from "node:http";
import { createArrivals, serve } from "./arrivals.ts";

/** Milliseconds until the `slow` answer, and between two bytes of the `drip` answer. */
const [SLOW_ANSWER_MS, DRIP_INTERVAL_MS] = [100, 1_000];

function drip(response: ServerResponse): void {
  hold(response);
  response.writeHead(200, { "content-type": "text/plain" });
  const timer = setInterval(() => response.write("."), DRIP_INTERVAL_MS);
  response.on("close", () => clearInterval(timer));
}

/** Requests without a complete answer; `release` ends them, so that the next round need not wait for their timeout. */
const open = new Set<ServerResponse>();

function hold(response: ServerResponse): void {
  open.add(response);
  response.on("close", () => open.delete(response));
}

function release(response: ServerResponse): void {
  for (const one of open) one.destroy();
  response.end("null");
}

const accept = (response: ServerResponse) => void response.writeHead(200).end();
const arrivals = createArrivals();

/** Only events that are accepted are recorded. */
serve(arrivals, ({ url = "", headers }, response) => {
  const [, mode] = url.split("/", 2);
  if (mode === "hang") return hold(response);
  if (mode === "error") return void response.writeHead(500).end();
  if (mode === "drip") return drip(response);
  if (mode === "release") return release(response);
  arrivals.record(String(headers["webhook-id"]));
  if (mode === "slow") setTimeout(accept, SLOW_ANSWER_MS, response);
  else accept(response);
});
