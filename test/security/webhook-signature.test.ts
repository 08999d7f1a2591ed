import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import t from "tap";
import { packageVersion } from "../../src/runtime/package-root.ts";
import { generateWebhookToken, type WebhookTokens } from "../../src/security/sealed-tokens.ts";
import { attemptHeaders } from "../../src/security/webhook-signature.ts";

const PAYLOAD = '{"id":"evt_1","data":{"text":"ü — 12345678901234567890"}}';
const AT = new Date();

const headersOf = (tokens: WebhookTokens, payload = PAYLOAD) =>
  attemptHeaders({
    id: "evt_1",
    type: "message.received",
    payload,
    attempt: 3,
    tokens,
    isTokenSent: true,
    at: AT,
  });

/** True when a receiver with this token accepts the headers. */
function verifies(token: string, headers: Record<string, string>, format?: "raw"): boolean {
  try {
    new Webhook(token, format ? { format } : undefined).verify(PAYLOAD, headers);
    return true;
  } catch {
    return false;
  }
}

t.test("the standard's library verifies a signature of a generated token", async (t) => {
  const token = generateWebhookToken();
  const headers = headersOf({ current: token });
  t.ok(verifies(token, headers));
  t.notOk(verifies(generateWebhookToken(), headers));
  t.notOk(verifies(token, headersOf({ current: token }, `${PAYLOAD} `)), "another body");
  t.notOk(verifies(token, { ...headers, "webhook-id": "evt_2" }), "another event");
  const later = String(Number(headers["webhook-timestamp"]) + 1);
  t.notOk(verifies(token, { ...headers, "webhook-timestamp": later }), "another time");
});

t.test("a client's own token signs, decoded when it is whsec_ and base64", async (t) => {
  const encoded = [
    "whsec_MTIzNDU2Nzg5MGFi",
    "whsec_MTIzNDU2Nzg5MGE=",
    "whsec_MTIzNDU2Nzg5MA==",
    "whsec_++//AAAA",
  ];
  for (const token of encoded) {
    t.ok(verifies(token, headersOf({ current: token })), token);
    t.notOk(verifies(token, headersOf({ current: token }), "raw"), token);
  }
  const plain = [
    "my-own-token-0123456",
    "MTIzNDU2Nzg5MGFiY2Rl",
    "whsec_not base64, surely".replaceAll(" ", "-"),
    "whsec_MTIzNDU2Nzg5MA",
    "whsec_MTIzNDU2Nzg5MA=",
    "whsec_MTIzNDU2Nzg5MA===",
    "whsec_MTIz_DU2-zg5MGFi",
    "WHSEC_MTIzNDU2Nzg5MGFi",
    "whsec_",
    '!"#$%&()*+,-./:;<=>?@[]^_`{|}~',
  ];
  for (const token of plain) t.ok(verifies(token, headersOf({ current: token }), "raw"), token);
});

t.test("both tokens verify during the grace period, the new one's signature first", async (t) => {
  const [current, former] = [generateWebhookToken(), "the-former-own-token"];
  const headers = headersOf({ current, former });
  t.ok(verifies(current, headers));
  t.ok(verifies(former, headers, "raw"));
  t.notOk(verifies(generateWebhookToken(), headers));
  const signatures = headers["webhook-signature"]?.split(" ") ?? [];
  t.equal(signatures.length, 2);
  t.equal(signatures[0], headersOf({ current })["webhook-signature"]);
  t.equal(headers["x-webhook-token"], current);
});

t.test("an attempt has these headers", async (t) => {
  const current = "my-own-token-0123456";
  const timestamp = String(Math.floor(AT.getTime() / 1000));
  const signature = createHmac("sha256", current).update(`evt_1.${timestamp}.${PAYLOAD}`).digest("base64");
  const without = {
    "content-type": "application/json",
    "user-agent": `Herald/${packageVersion()}`,
    "webhook-id": "evt_1",
    "webhook-timestamp": timestamp,
    "x-webhook-event": "message.received",
    "x-webhook-attempt": "3",
  };
  t.same(headersOf({}), without, "no signature without a token");
  t.same(headersOf({ current }), {
    ...without,
    "webhook-signature": `v1,${signature}`,
    "x-webhook-token": current,
  });
});
