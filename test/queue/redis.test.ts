import t, { type Test } from "tap";
import { freePort } from "../../src/local/server-process.ts";
import { awaitConnection } from "../../src/queue/redis.ts";
import { readConfig } from "../../src/runtime/config/config.ts";
import { unconnectedSettings } from "../fixtures/processes/settings.ts";
import { createSelfSignedCertificate } from "../fixtures/servers/certificate.ts";
import { makeTempFolder } from "../fixtures/servers/folders.ts";
import { createPatientProducer, startPrivateRedis, startRedisCluster } from "../fixtures/servers/redis.ts";
import { until } from "../fixtures/until.ts";

const CONNECT_TIMEOUT_MS = 60_000;

function connect(t: Test, settings: Record<string, string>) {
  const client = createPatientProducer(readConfig({ ...unconnectedSettings(), ...settings }));
  t.teardown(() => client.disconnect());
  const errors: Error[] = [];
  client.on("error", (error) => errors.push(error));
  return { client, errors };
}

t.test("a client uses all slots of a Redis Cluster", async (t) => {
  const { client } = connect(t, { REDIS_URL: await startRedisCluster(t) });
  await awaitConnection(client, CONNECT_TIMEOUT_MS);
  const keys = Array.from({ length: 20 }, (_, number) => `{part:${number}}`);
  for (const key of keys) await client.set(key, key);
  t.same(await Promise.all(keys.map((key) => client.get(key))), keys);
});

t.test("the TLS certificate is checked, unless REDIS_TLS_VERIFY is false", async (t) => {
  const { cert, key } = createSelfSignedCertificate(makeTempFolder(t));
  const tlsPort = await freePort();
  const { url } = await startPrivateRedis(t, [
    `tls-port ${tlsPort}`,
    `tls-cert-file ${cert}`,
    `tls-key-file ${key}`,
    "tls-auth-clients no",
  ]);
  const REDIS_URL = `rediss://:${new URL(url).password}@127.0.0.1:${tlsPort}`;
  const trusting = connect(t, { REDIS_URL, REDIS_TLS_VERIFY: "false" });
  await awaitConnection(trusting.client, CONNECT_TIMEOUT_MS);
  await trusting.client.ping();
  const strict = connect(t, { REDIS_URL });
  await t.rejects(strict.client.ping());
  await until("the certificate is refused", () =>
    strict.errors.some(({ message }) => message.includes("self-signed certificate")),
  );
  await t.rejects(strict.client.ping());
});
