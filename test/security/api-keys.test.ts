import t from "tap";
import { isMatchingSecret, issueApiKey, parseApiKey } from "../../src/security/api-keys.ts";

const ID = "01k9zv3m5q8x7w2r4t6y0a1b2c";
const SECRET = "4fJ2mQ9sT7vXbN1cK8dL0eR5gH3iW6yZpAoUuEqDx7Q";

t.test("a key consists of svc_live_ or svc_test_, a 26-character id and a 43-character secret", async (t) => {
  for (const [production, begin] of [
    [true, "svc_live_"],
    [false, "svc_test_"],
  ] as const) {
    const issued = issueApiKey({ production });
    t.match(issued.text, new RegExp(`^${begin}[0-9a-hjkmnp-tv-z]{26}_[0-9A-Za-z]{43}$`));
    t.equal(issued.id, `key_${issued.text.slice(9, 35)}`);
    t.equal(issued.last4, issued.text.slice(-4));
  }
});

t.test("the stored fields of a key verify its secret and do not contain it", async (t) => {
  const { text, ...kept } = issueApiKey({ production: true });
  const secret = text.slice(-43);
  t.ok(isMatchingSecret(secret, kept.secretHash));
  t.notOk(isMatchingSecret(SECRET, kept.secretHash));
  t.notOk(isMatchingSecret("", kept.secretHash));
  t.equal(kept.secretHash.length, 32);
  for (const value of Object.values(kept)) t.notMatch(String(value), secret);
});

t.test("500 issued keys have different ids and secrets", async (t) => {
  const keys = Array.from({ length: 500 }, () => issueApiKey({ production: true }));
  t.equal(new Set(keys.map(({ id }) => id)).size, keys.length);
  t.equal(new Set(keys.map(({ text }) => text.slice(-43))).size, keys.length);
});

t.test("a presented key is parsed into its id and its secret", async (t) => {
  t.match(parseApiKey(`svc_live_${ID}_${SECRET}`), { id: `key_${ID}`, secret: SECRET });
  t.match(parseApiKey(`svc_test_${ID}_${SECRET}`), { id: `key_${ID}`, secret: SECRET });
});

const INVALID_KEYS: Record<string, string> = {
  "an empty text": "",
  "a prefix alone": "svc_live_",
  "another prefix": `svc_prod_${ID}_${SECRET}`,
  "an upper-case prefix": `SVC_LIVE_${ID}_${SECRET}`,
  "no secret": `svc_live_${ID}`,
  "an empty secret": `svc_live_${ID}_`,
  "a secret one character too short": `svc_live_${ID}_${SECRET.slice(1)}`,
  "a secret one character too long": `svc_live_${ID}_${SECRET}x`,
  "a dash in the secret": `svc_live_${ID}_${SECRET.slice(1)}-`,
  "a non-ASCII letter in the secret": `svc_live_${ID}_${SECRET.slice(1)}é`,
  "an id one character too short": `svc_live_${ID.slice(1)}_${SECRET}`,
  "an id one character too long": `svc_live_0${ID}_${SECRET}`,
  "an upper-case id": `svc_live_${ID.toUpperCase()}_${SECRET}`,
  "a letter that ids do not use": `svc_live_u${ID.slice(1)}_${SECRET}`,
  "a leading space": ` svc_live_${ID}_${SECRET}`,
  "a trailing space": `svc_live_${ID}_${SECRET} `,
  "a trailing line break": `svc_live_${ID}_${SECRET}\n`,
  "the same key twice": `svc_live_${ID}_${SECRET}, svc_live_${ID}_${SECRET}`,
  "a leading scheme": `Bearer svc_live_${ID}_${SECRET}`,
};

t.test("a malformed key is rejected", async (t) => {
  for (const [what, text] of Object.entries(INVALID_KEYS)) t.equal(parseApiKey(text), undefined, what);
});
