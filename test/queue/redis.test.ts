import t, { type Test } from "tap";
import { freePort } from "../../src/local/server-process.ts";
import { awaitConnection } from "../../src/queue/redis.ts";
import { readConfig } from "../../src/runtime/config/config.ts";
import { captureLog } from "../fixtures/captured-log.ts";
import { unconnectedSettings } from "../fixtures/processes/settings.ts";
import { createSelfSignedCertificate } from "../fixtures/servers/certificate.ts";
import { makeTempFolder } from "../fixtures/servers/folders.ts";
import { createPatientProducer, startPrivateRedis } from "../fixtures/servers/redis.ts";
import { until } from "../fixtures/until.ts";

const CONNECT_TIMEOUT_MS = 60_000;

const startServer = async (t: Test, settings: readonly string[]) =>
  new URL((await startPrivateRedis(t, settings)).url);

function connect(t: Test, settings: Record<string, string>) {
  const { log, events } = captureLog();
  const client = createPatientProducer(readConfig({ ...unconnectedSettings(), ...settings }), log);
  t.teardown(() => client.disconnect());
  return { client, events };
}

t.test("a client uses all slots of a Redis Cluster", async (t) => {
  const url = await startServer(t, ["cluster-enabled yes", "cluster-announce-ip 127.0.0.1"]);
  const plain = connect(t, { REDIS_URL: url.href }).client;
  await awaitConnection(plain, CONNECT_TIMEOUT_MS);
  await plain.call("cluster", "addslotsrange", "0", "16383");
  const state = async () => String(await plain.call("cluster", "info"));
  await until("the cluster is up", async () => (await state()).includes("cluster_state:ok"));
  const { client } = connect(t, { REDIS_URL: `${url.href}?cluster=true` });
  await awaitConnection(client, CONNECT_TIMEOUT_MS);
  await client.ping();
  const keys = Array.from({ length: 20 }, (_, number) => `{part:${number}}`);
  for (const key of keys) await client.set(key, key);
  t.same(await Promise.all(keys.map((key) => client.get(key))), keys);
});

t.test("the TLS certificate is checked, unless REDIS_TLS_VERIFY is false", async (t) => {
  const { cert, key } = createSelfSignedCertificate(makeTempFolder(t));
  const tlsPort = await freePort();
  const url = await startServer(t, [
    `tls-port ${tlsPort}`,
    `tls-cert-file ${cert}`,
    `tls-key-file ${key}`,
    "tls-auth-clients no",
  ]);
  const REDIS_URL = `rediss://:${url.password}@127.0.0.1:${tlsPort}`;
  const trusting = connect(t, { REDIS_URL, REDIS_TLS_VERIFY: "false" });
  await awaitConnection(trusting.client, CONNECT_TIMEOUT_MS);
  await trusting.client.ping();
  const strict = connect(t, { REDIS_URL });
  await t.rejects(strict.client.ping());
  await until("the refused certificate is logged", () => strict.events().includes("redis.unavailable"));
  await t.rejects(strict.client.ping());
});
