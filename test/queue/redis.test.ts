import t, { type Test } from "tap";
import { freePort } from "../../src/local/server-process.ts";
import { awaitConnection, createProducerClient, createReadConnector } from "../../src/queue/redis.ts";
import { createWakeUpReader } from "../../src/queue/wake-ups.ts";
import { readConfig } from "../../src/runtime/config/config.ts";
import { unconnectedSettings } from "../fixtures/processes/settings.ts";
import { createSelfSignedCertificate } from "../fixtures/servers/certificate.ts";
import { makeTempFolder } from "../fixtures/servers/folders.ts";
import { createPatientProducer, startPrivateRedis } from "../fixtures/servers/redis.ts";
import { type RedisNode, startOneNodeCluster } from "../fixtures/servers/redis-cluster.ts";
import { startSentinels } from "../fixtures/servers/redis-sentinel.ts";
import { until } from "../fixtures/until.ts";

const CONNECT_TIMEOUT_MS = 60_000;
const STREAM = "{18}:events";

function connect(t: Test, settings: Record<string, string>) {
  const client = createPatientProducer(readConfig({ ...unconnectedSettings(), ...settings }));
  t.teardown(() => client.disconnect());
  const errors: Error[] = [];
  client.on("error", (error) => errors.push(error));
  return { client, errors };
}

t.test("a client uses all slots of a Redis Cluster", async (t) => {
  const { client } = connect(t, { REDIS_URL: await startOneNodeCluster(t) });
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

for (const [fault, signal] of [
  ["is killed", "SIGKILL"],
  ["hangs", "SIGSTOP"],
] as const)
  t.test(
    `commands and blocking reads follow a failover by sentinels when the primary ${fault}`,
    async (t) => {
      const { url, primary, replica, untilReplaced } = await startSentinels(t);
      const config = readConfig({ ...unconnectedSettings(), REDIS_URL: url });
      const client = createProducerClient(config);
      const reader = createWakeUpReader(STREAM, createReadConnector(config, client));
      t.teardown(() => {
        client.disconnect();
        reader.close();
      });
      const attempt = <T>(work: Promise<T>) => work.catch(() => undefined);
      const untilRead = (value: string) =>
        until(`${value} is written and read`, async () => {
          await attempt(client.xadd(STREAM, "*", "k", value));
          return (await attempt(reader.read(10)))?.flat().includes(value);
        });
      const hasData = async (server: RedisNode) =>
        /^db3:/m.test(String(await server.call("info", "keyspace")));
      await awaitConnection(client, CONNECT_TIMEOUT_MS);
      await untilRead("before");
      t.ok(await hasData(primary), "in the database of the URL");
      await until("the replica has the data", () => hasData(replica));
      primary.signal(signal);
      await untilReplaced();
      await untilRead("after");
      t.ok(await hasData(replica));
    },
  );
