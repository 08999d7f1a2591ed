import { createServer } from "node:http";
import createClient from "openapi-fetch";
import { Webhook } from "standardwebhooks";

const { PUBLIC_URL, DEMO_API_KEY, DEMO_WEBHOOK_SECRET, BOT_PORT = "3000" } = process.env;
if (!DEMO_WEBHOOK_SECRET) throw new Error("Load the settings first: set -a; . .herald/env; set +a");
/** @type {import("openapi-fetch").Client<import("./herald-api.d.ts").paths>} */
const herald = createClient({ baseUrl: PUBLIC_URL, headers: { "x-svc-api-key": DEMO_API_KEY } });

async function receive(request) {
  const text = Buffer.concat(await request.toArray()).toString();
  new Webhook(DEMO_WEBHOOK_SECRET).verify(text, request.headers); // throws when the signature is wrong
  const { id, type, channel_id, data } = JSON.parse(text);
  if (type !== "message.received" || data.type !== "text") return;
  const { error } = await herald.POST("/api/outbound/send", {
    params: { header: { "Idempotency-Key": id } }, // prevents a second echo
    body: { channel_id, to: data.from.id, type: "text", text: { body: data.content.body } },
  });
  if (error) throw new Error(error.message);
}

createServer(async (request, response) => {
  const error = await receive(request).catch((error) => error);
  response.writeHead(error ? 500 : 204).end(error?.message); // on 500 Herald delivers the event again
}).listen(BOT_PORT);
const config = { webhook_url: `http://localhost:${BOT_PORT}` };
const { error } = await herald.PATCH("/api/webhooks/config", { body: config });
if (error) throw new Error(error.message);
console.log(`The echo bot receives events at ${config.webhook_url}`);
