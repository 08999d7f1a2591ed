import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const { PUBLIC_URL, DEMO_API_KEY, DEMO_WEBHOOK_SECRET, BOT_PORT = "3000" } = process.env;
const webhook = new Webhook(DEMO_WEBHOOK_SECRET);

function call(method, path, body, more = {}) {
  const headers = { "x-svc-api-key": DEMO_API_KEY, ...more };
  return fetch(PUBLIC_URL + path, { method, headers, body: JSON.stringify(body) });
}

async function receive(request) {
  const body = Buffer.concat(await request.toArray()).toString();
  webhook.verify(body, request.headers); // throws when the signature is wrong
  const { id, type, channel_id, data } = JSON.parse(body);
  if (type !== "message.received" || data.type !== "text") return 204;
  const echo = { channel_id, to: data.from.id, type: "text", text: { body: data.content.body } };
  const reply = await call("POST", "/api/outbound/send", echo, { "idempotency-key": id });
  return reply.ok ? 204 : 500; // on 500 Herald delivers the event again; the key prevents a second echo
}

createServer(async (request, response) => {
  response.writeHead(await receive(request).catch(() => 400)).end();
}).listen(BOT_PORT);
await call("PATCH", "/api/webhooks/config", { webhook_url: `http://localhost:${BOT_PORT}` });
