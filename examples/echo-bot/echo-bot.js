import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const { PUBLIC_URL, DEMO_API_KEY, DEMO_WEBHOOK_SECRET, BOT_PORT = "3000" } = process.env;
if (!DEMO_WEBHOOK_SECRET) throw new Error("Load the settings first: set -a; . .herald/env; set +a");

async function call(method, path, body, more = {}) {
  const headers = { "x-svc-api-key": DEMO_API_KEY, ...more };
  const reply = await fetch(PUBLIC_URL + path, { method, headers, body: JSON.stringify(body) });
  if (!reply.ok) throw new Error(`${method} ${path}: ${await reply.text()}`);
}

async function receive(request) {
  const body = Buffer.concat(await request.toArray()).toString();
  new Webhook(DEMO_WEBHOOK_SECRET).verify(body, request.headers); // throws when the signature is wrong
  const { id, type, channel_id, data } = JSON.parse(body);
  if (type !== "message.received" || data.type !== "text") return;
  const echo = { channel_id, to: data.from.id, type: "text", text: { body: data.content.body } };
  await call("POST", "/api/outbound/send", echo, { "idempotency-key": id }); // the key prevents a second echo
}

createServer(async (request, response) => {
  const error = await receive(request).catch((error) => error);
  response.writeHead(error ? 500 : 204).end(error?.message); // on 500 Herald delivers the event again
}).listen(BOT_PORT);
await call("PATCH", "/api/webhooks/config", { webhook_url: `http://localhost:${BOT_PORT}` });
console.log(`The echo bot receives events at http://localhost:${BOT_PORT}`);
