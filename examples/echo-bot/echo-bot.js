import { createServer } from "node:http";
import { Herald } from "@herald/sdk";
import { unwrap } from "@herald/sdk/webhooks";

const { PUBLIC_URL, DEMO_API_KEY, DEMO_WEBHOOK_SECRET, BOT_PORT = "3000" } = process.env;
if (!DEMO_WEBHOOK_SECRET) throw new Error("Load the settings first: set -a; . .herald/env; set +a");
const herald = new Herald({ baseUrl: PUBLIC_URL, apiKey: DEMO_API_KEY });

async function receive(request) {
  const raw = Buffer.concat(await request.toArray());
  const event = await unwrap(raw, request.headers, DEMO_WEBHOOK_SECRET); // rejects a wrong signature
  if (event.type !== "message.received" || event.data.type !== "text") return;
  const { from, content } = event.data;
  const body = "body" in content ? content.body : content.text; // pages call it text
  await herald.messages.send(
    { channel_id: event.channel_id, to: from.id, type: "text", text: { body } },
    { idempotencyKey: event.id }, // prevents a second echo
  );
}

createServer(async (request, response) => {
  const error = await receive(request).catch((error) => error);
  response.writeHead(error ? 500 : 204).end(error?.message); // on 500 Herald delivers the event again
}).listen(BOT_PORT);
const config = await herald.webhooks.updateConfig({ webhook_url: `http://localhost:${BOT_PORT}` });
console.log(`The echo bot receives events at ${config.webhook_url}`);
