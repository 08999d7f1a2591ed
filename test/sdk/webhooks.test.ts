import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sign, unwrap, WebhookVerificationError } from "@herald/sdk/webhooks";
import { Webhook } from "standardwebhooks";
import t from "tap";
import { packageRoot } from "../../src/runtime/package-root.ts";
import { attemptHeaders } from "../../src/security/webhook-signature.ts";
import { codeBlocks } from "../fixtures/docs/code-blocks.ts";

interface Vector {
  secret: string;
  id: string;
  timestamp: string;
  body: string;
  signature: string;
}

const blocks = codeBlocks(readFileSync(join(packageRoot(), "docs/guides/receiving.md"), "utf8"));
const vectors: Vector[] = JSON.parse(blocks.find(({ code }) => code.includes('"signature"'))?.code ?? "[]");
const ANY_AGE = { toleranceSeconds: Number.POSITIVE_INFINITY };

const headersOf = ({ id, timestamp, signature }: Vector) => ({
  "webhook-id": id,
  "webhook-timestamp": timestamp,
  "webhook-signature": signature,
});

t.test("Herald, the SDK and the guide's function agree on the guide's requests", async (t) => {
  t.equal(vectors.length, 2);
  const source = blocks.find(({ code }) => code.includes("export function verify"))?.code ?? "";
  const guide = await import(`data:text/javascript,${encodeURIComponent(source)}`);
  for (const vector of vectors) {
    const { secret, id, timestamp, body, signature } = vector;
    const at = new Date(Number(timestamp) * 1_000);
    const attempt = { id, type: "webhook.test", payload: body, attempt: 1, isTokenSent: false, at };
    const sent = attemptHeaders({ ...attempt, tokens: { current: secret } });
    t.equal(sent["webhook-signature"], signature, "Herald");
    const signed = await sign(body, secret, { timestamp: at });
    t.match(signed, { body, headers: headersOf(vector) });
    for (const raw of [body, Buffer.from(body)])
      t.match(await unwrap(raw, headersOf(vector), secret, ANY_AGE), { id, type: "webhook.test" });
    t.equal(guide.verify(headersOf(vector), Buffer.from(body), secret, Number.POSITIVE_INFINITY), true);
  }
});

t.test("a signed request is accepted by other libraries of the standard", async (t) => {
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const { body, headers } = await sign({ id: "evt_1", type: "webhook.test" }, secret);
  t.match(new Webhook(secret).verify(body, headers), { id: "evt_1" });
  t.match(await unwrap(body, new Headers(headers), secret), { id: "evt_1" });
  const upper = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
  );
  t.match(await unwrap(body, upper, secret), { id: "evt_1" });
  const both = `v1,${Buffer.alloc(32).toString("base64")} v2,x ${headers["webhook-signature"]}`;
  t.match(await unwrap(body, { ...headers, "webhook-signature": both }, secret), { id: "evt_1" });
});

t.test(
  "the event is the one that was verified, and a header with many signatures is not read to its end",
  async (t) => {
    const secret = "a-secret-of-my-own";
    const { body, headers } = await sign({ id: "evt_1", type: "webhook.test" }, secret);
    const bytes = Buffer.from(body);
    const unwrapped = unwrap(bytes, headers, secret);
    bytes.write(body.replace("evt_1", "evt_2"));
    t.match(await unwrapped, { id: "evt_1" });
    const wrong = `v1,${Buffer.alloc(32).toString("base64")} `;
    const many = { ...headers, "webhook-signature": `${wrong.repeat(300)}${headers["webhook-signature"]}` };
    await t.rejects(unwrap(body, many, secret), WebhookVerificationError);
  },
);

t.test("a request that is changed, old or incomplete is refused, and the error has no secret", async (t) => {
  const secret = "a-secret-of-my-own";
  const request = await sign({ id: "evt_1", type: "webhook.test" }, secret);
  const old = await sign({ id: "evt_1", type: "webhook.test" }, secret, {
    timestamp: new Date(Date.now() - 400_000),
  });
  const text = await sign("not JSON", secret, { id: "evt_1" });
  const number = await sign("1", secret, { id: "evt_1" });
  const cases: [string, { body?: string; headers?: object; secret?: string }][] = [
    ["signature_wrong", { body: request.body.replace("evt_1", "evt_2") }],
    ["signature_wrong", { headers: { ...request.headers, "webhook-id": "evt_2" } }],
    ["signature_wrong", { headers: { ...request.headers, "webhook-signature": "v1,!" } }],
    ["signature_wrong", { headers: { ...request.headers, "webhook-signature": "v1," } }],
    ["signature_wrong", { secret: "another-secret-here" }],
    ["header_missing", { headers: {} }],
    ["header_missing", { headers: { ...request.headers, "webhook-signature": undefined } }],
    ["timestamp_too_far", { headers: { ...request.headers, "webhook-timestamp": "soon" } }],
    ["timestamp_too_far", old],
    ["not_an_event", text],
    ["not_an_event", number],
  ];
  for (const [reason, change] of cases) {
    const { body, headers, secret: used } = { ...request, secret, ...change };
    const error = await unwrap(body, headers as never, used).catch((error: unknown) => error);
    t.ok(error instanceof WebhookVerificationError, reason);
    t.match(error, { reason });
    t.notMatch(String((error as Error).stack), used);
  }
  await t.rejects(unwrap(JSON.parse(request.body), request.headers, secret), TypeError);
  for (const missing of ["", undefined, null] as string[])
    await t.rejects(unwrap(request.body, request.headers, missing), { name: "TypeError", message: /secret/ });
  await t.rejects(sign({ type: "webhook.test" }, secret), TypeError, "a payload without id");
});
