import t from "tap";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { textMessage } from "../../fixtures/messages/messages.ts";
import { pageWebhook, postWebhook } from "../../fixtures/platforms/webhooks.ts";
import { startWeb } from "../../fixtures/processes/processes.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { startTcpProxy } from "../../fixtures/servers/tcp-proxy.ts";
import { makeChannel, newPlatformId } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";

const KEYED_SENDS = 4;
/** Requests wait 5 s for Postgres, other statements 30 s; the rest is time for a slow machine. */
const MAX_WAIT_MS = 20_000;

async function timed<T>(work: Promise<T>): Promise<{ result: T; ms: number }> {
  const startedAt = performance.now();
  return { result: await work, ms: performance.now() - startedAt };
}

t.test("requests are answered while Postgres is frozen, and no message is lost or doubled", async (t) => {
  const settings = await testSettings(t);
  const postgres = await startTcpProxy(t, settings.DATABASE_URL as string);
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  const web = await startWeb(t, { ...settings, DATABASE_URL: postgres.url });
  const tenant = await makeTenant({ db, config });
  const { headers } = await tenant.createKey("messages:send");
  const [channel, pageId] = [await makeChannel({ db, config }, tenant), newPlatformId()];
  await makeChannel({ db, config }, tenant, { platform: "socialapp", pageId });

  const send = (reference: string, key?: string) =>
    web.call("POST", "/api/outbound/send", {
      headers: { ...headers, ...(key ? { "idempotency-key": key } : {}) },
      json: textMessage(channel, { external_ref: reference }),
    });
  const countMessages = async (reference: string): Promise<number> => {
    const { body } = await web.call("GET", `/api/outbound/messages?external_ref=${reference}`, { headers });
    return body.data.length;
  };
  const keys = Array.from({ length: KEYED_SENDS }, (_, index) => `key-${index}`);

  t.equal((await send("before")).status, 202);
  postgres.freeze();
  const [sends, read, webhook] = await Promise.all([
    Promise.all(keys.map((key) => timed(send(key, key)))),
    timed(web.call("GET", "/api/outbound/messages", { headers })),
    timed(postWebhook(web.address, pageWebhook(pageId, ["m_1"]))),
  ]);
  for (const { result, ms } of sends) {
    t.match(`${result.status} ${result.body.error}`, /^(503 temporarily_unavailable|504 outcome_unknown)$/);
    t.ok(ms < MAX_WAIT_MS, `a send is answered after ${Math.round(ms)} ms`);
  }
  t.equal(read.result.status, 503);
  t.equal(webhook.result, 503, "the platform repeats the webhook");
  t.ok(read.ms < MAX_WAIT_MS && webhook.ms < MAX_WAIT_MS);
  const repeated = await send("key-0", "key-0");
  t.ok([503, 504].includes(repeated.status), "a repetition does not wait longer");

  postgres.thaw();
  const first = await timed(send("after"));
  t.equal(first.result.status, 202, "the first send afterwards does not wait for the broken connections");
  t.ok(first.ms < MAX_WAIT_MS, `it takes ${Math.round(first.ms)} ms`);
  for (const key of keys) {
    const { status } = await send(key, key);
    t.equal(status, 202, "a repetition finds out what happened");
    t.equal(await countMessages(key), 1, `one message for ${key}`);
  }
  t.equal(await countMessages("before"), 1);
  t.equal(await countMessages("after"), 1);
});
