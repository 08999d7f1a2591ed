/** A chat platform that accepts every message after a fixed time, as a separate process. It records the phone numbers. */
import type { ServerResponse } from "node:http";
import { createArrivals, serve } from "./arrivals.ts";

const ANSWER_MS = 50;
const arrivals = createArrivals();
let lastId = 0;

function accept(response: ServerResponse): void {
  const messages = [{ id: `wamid.${process.pid}.${++lastId}` }];
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ messaging_product: "whatsapp", contacts: [], messages }));
}

serve(arrivals, ({ url = "" }, response) => {
  arrivals.record(url.split("/").at(-2) ?? "");
  setTimeout(accept, ANSWER_MS, response);
});
