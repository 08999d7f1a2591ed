import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import type { Test } from "tap";
import t from "tap";
import { createEventPoster } from "../../src/delivery/post-event.ts";
import { prepareAttempt } from "../../src/delivery/signed-attempt.ts";
import { createDestinations, createResolver } from "../../src/delivery/ssrf-guard.ts";
import { cidrs } from "../../src/runtime/config/setting-kinds.ts";
import { sealWebhookToken } from "../../src/security/sealed-tokens.ts";
import { createSecretBox } from "../../src/security/secret-box.ts";
import { startBackend } from "../fixtures/events/backends.ts";
import { startWebhookReceiver } from "../fixtures/sandbox/webhook-receiver.ts";

const CLIENT_ID = "7f1c1c56-6a0c-4f5e-9f55-2f6f0a1a9f10";
const TOKEN = "whsec_MTIzNDU2Nzg5MGFi";
const EVENT = {
  id: "evt_1",
  type: "message.received",
  key: "chatapp",
  payload: '{"id":"evt_1","data":{"text":"ü — 12345678901234567890"}}',
  attempt: 3,
} as const;

async function start(t: Test) {
  const destinations = createDestinations(cidrs.parse("127.0.0.0/8") ?? []);
  const poster = createEventPoster({ destinations, resolver: createResolver({ destinations }) });
  t.teardown(() => poster.close());
  const secretBox = createSecretBox([{ id: "k1", bytes: randomBytes(32) }]);
  const backend = await startWebhookReceiver(t);
  const target = {
    client_id: CLIENT_ID,
    webhook_url: `${backend.url}/in`,
    secret_sealed: sealWebhookToken(secretBox, TOKEN, { column: "secret_sealed", id: CLIENT_ID }),
    former_secret_sealed: null,
    former_secret_until: null,
    token_header: true,
  };
  return { parts: { secretBox, poster }, backend, target };
}

t.test("an attempt posts the signed event to the address of its key and type", async (t) => {
  const { parts, backend, target } = await start(t);
  const attempt = prepareAttempt(parts, target, EVENT);
  t.equal(attempt.url, `${backend.url}/in/chat/receiveMessage`);
  t.equal(backend.received.length, 0, "preparing sends nothing");
  t.match(await attempt.send(), { outcome: "delivered", statusCode: 200, error: null, excerpt: null });
  const [{ path, headers, raw }] = backend.received as [(typeof backend.received)[number]];
  t.equal(path, "/in/chat/receiveMessage");
  t.equal(raw, EVENT.payload);
  t.match(headers, {
    "webhook-id": "evt_1",
    "x-webhook-event": "message.received",
    "x-webhook-attempt": "3",
    "x-webhook-token": TOKEN,
  });
  t.ok(new Webhook(TOKEN).verify(raw, headers as Record<string, string>));
});

t.test("the token is removed from the stored answer, also when the request does not carry it", async (t) => {
  const { parts, target } = await start(t);
  const backend = await startBackend(t, (_, response) => response.writeHead(500).end(`secret=${TOKEN};`));
  for (const token_header of [true, false]) {
    const attempt = prepareAttempt(parts, { ...target, webhook_url: backend.url, token_header }, EVENT);
    const { excerpt } = await attempt.send();
    t.match(excerpt, /^secret=/);
    t.notOk(excerpt?.includes(TOKEN));
  }
});

t.test("an aborted attempt fails", async (t) => {
  const { parts, backend, target } = await start(t);
  const attempt = prepareAttempt(parts, target, EVENT);
  t.match(await attempt.send({ signal: AbortSignal.abort() }), { outcome: "failed", error: "aborted" });
  t.equal(backend.received.length, 0);
});

t.test("preparing throws when no key decrypts the tokens", async (t) => {
  const { parts, backend, target } = await start(t);
  const unopenable = { ...target, secret_sealed: "lost.xyz" };
  t.throws(() => prepareAttempt(parts, unopenable, EVENT), { name: "SecretBoxError" });
  t.equal(backend.received.length, 0);
});
