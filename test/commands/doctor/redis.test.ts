import t, { type Test } from "tap";
import { examineRedis } from "../../../src/commands/doctor/redis.ts";
import { tagsOf } from "../../../src/queue/wake-ups.ts";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { unconnectedSettings } from "../../fixtures/processes/settings.ts";
import { startPrivateRedis } from "../../fixtures/servers/redis.ts";
import { type RedisNode, startCluster } from "../../fixtures/servers/redis-cluster.ts";
import { startSentinels } from "../../fixtures/servers/redis-sentinel.ts";
import { until } from "../../fixtures/until.ts";

/** Far longer than a server takes on a busy machine. */
const PATIENT_TIMEOUT_MS = 60_000;

const FULL_COVERAGE = "; while one of them is down, all refuse (cluster-require-full-coverage is yes)";

/** Examines the Redis and checks that no finding contains a secret of its URL. */
async function examine(t: Test, REDIS_URL: string, timeoutMs = PATIENT_TIMEOUT_MS) {
  const findings = await examineRedis(readConfig({ ...unconnectedSettings(), REDIS_URL }), timeoutMs);
  const secrets = [...REDIS_URL.matchAll(/:([^:@/]+)@|sentinel_password=([^&]+)/g)];
  for (const [, password, sentinelPassword] of secrets)
    t.notMatch(JSON.stringify(findings), password ?? sentinelPassword);
  t.ok(findings.every(({ check }) => check === "redis"));
  return findings;
}

/** Examines it until one finding contains the text: a signal takes effect, and nodes learn of each other, a moment later. */
const untilFound = (t: Test, url: string, text: string, timeoutMs?: number) =>
  until(`a finding contains "${text}"`, async () => {
    const findings = await examine(t, url, timeoutMs);
    return findings.some(({ message }) => message.includes(text)) ? findings : undefined;
  });

/** Milliseconds after which a node that does not answer counts as failed. */
const NODE_TIMEOUT = { onBusyMachine: 15_000, inFault: 1_000 };

async function setNodeTimeout(nodes: readonly RedisNode[], milliseconds: number): Promise<void> {
  for (const node of nodes) await node.call("config", "set", "cluster-node-timeout", milliseconds);
}

const addressOf = ({ port }: Pick<RedisNode, "port">) => `127.0.0.1:${port}`;

t.test("a Redis Cluster with replicas", async (t) => {
  const { url, nodes, replicaOf } = await startCluster(t, { primaries: 3, replicas: 1 });
  const primaries = nodes.slice(0, 3);
  const names = primaries.map(addressOf).join(", ");
  const message = `3 primaries answer and accept writes: ${names}`;
  const first = primaries[0] as RedisNode;

  t.test("is named with its primaries, however it is reached", async (t) => {
    const found = [{ check: "redis", status: "ok", message: message + FULL_COVERAGE }];
    // Each node learns by itself which replicas have the data.
    for (const node of nodes)
      t.same(await untilFound(t, `${node.url}?cluster=true`, message), found, "by one node");
    await setNodeTimeout(nodes, NODE_TIMEOUT.onBusyMachine);
    t.same(await examine(t, `${url},redis://127.0.0.1:1`), found, "with an address that does not answer");
  });

  t.test("is examined by a user who may not read the configuration", async (t) => {
    for (const node of nodes)
      await node.call("acl", "setuser", "herald", "on", ">secret", "~*", "+@all", "-config");
    const one = new URL(first.url);
    one.username = "herald";
    one.password = "secret";
    t.same(await examine(t, `${one.href}?cluster=true`), [{ check: "redis", status: "ok", message }]);
  });

  t.test("is warned of when a primary has lost its replica", async (t) => {
    await setNodeTimeout(nodes, NODE_TIMEOUT.inFault);
    (await replicaOf(first)).signal("SIGKILL");
    t.match(await untilFound(t, `${first.url}?cluster=true`, "no replica"), [
      {
        status: "warning",
        message: `no replica of ${addressOf(first)}: when such a primary fails, the whole cluster refuses`,
        fix: /add a replica .* cluster-require-full-coverage to no/,
      },
    ]);
  });
});

t.test("a Redis Cluster without replicas", async (t) => {
  const { url, nodes, primaryOf, moveSlotOf } = await startCluster(t, { primaries: 3, replicas: 0 });
  await setNodeTimeout(nodes, NODE_TIMEOUT.onBusyMachine);
  const [, two, three] = nodes as [RedisNode, RedisNode, RedisNode];
  const failures = async (t: Test, timeoutMs?: number) =>
    (await examine(t, url, timeoutMs)).filter(({ status }) => status === "failed");

  t.test("has one warning", async (t) => {
    const names = nodes.map(addressOf).join(", ");
    t.match(await examine(t, url), [
      { status: "warning", message: `no replica of ${names}: when such a primary fails, the whole cluster` },
    ]);
    for (const node of nodes) await node.call("config", "set", "cluster-require-full-coverage", "no");
    t.match(await examine(t, url), [
      { message: /fails, its slots have no successor, and Herald is slower/, fix: /^add a replica to each$/ },
    ]);
    for (const node of nodes) await node.call("config", "set", "cluster-require-full-coverage", "yes");
  });

  t.test("has a primary that refuses writes and has no stream of Herald", async (t) => {
    for (const tag of tagsOf({ REDIS_URL: { cluster: true, nodes: [] } }))
      if ((await primaryOf(`{${tag}}:events`)) === two) await moveSlotOf(`{${tag}}:events`, three);
    await two.call("config", "set", "maxmemory", "1");
    t.match(await failures(t), [
      { message: `${addressOf(two)} refuses writes: OOM command not allowed`, fix: /^raise maxmemory/ },
    ]);
    await two.call("config", "set", "maxmemory", "0");
    t.same(await failures(t), []);
  });

  t.test("has a primary that hangs", async (t) => {
    await setNodeTimeout(nodes, NODE_TIMEOUT.inFault);
    two.signal("SIGSTOP");
    const found = await untilFound(t, url, "CLUSTERDOWN", 1_000);
    two.signal("SIGCONT");
    t.match(
      found.find(({ message }) => message.startsWith(addressOf(two))),
      { message: `${addressOf(two)} cannot be used: no answer within 1000 ms`, fix: /^start it, or let/ },
    );
    t.match(
      found.find(({ message }) => message.includes("CLUSTERDOWN")),
      {
        message: /^\d+ of 16384 slots have no primary that answers; .* refuse commands$/,
        fix: /^start their primary.* cluster-require-full-coverage to no/,
      },
    );
    // The nodes wait for twice their time-out before they use the primary again.
    await until("the cluster is up again", async () => (await failures(t)).length === 0);
    await setNodeTimeout(nodes, NODE_TIMEOUT.onBusyMachine);
  });

  t.test("has slots without a primary", async (t) => {
    for (const node of nodes) await node.call("config", "set", "cluster-require-full-coverage", "no");
    const found = await until("no node knows a primary of both slots", async () => {
      // A node that has not heard of it yet tells another one that the slots have a primary.
      for (const node of nodes) await node.call("cluster", "delslots", 16_382, 16_383).catch(() => {});
      return (await failures(t))[0];
    });
    t.equal(found.message, "2 of 16384 slots have no primary that answers");
    t.equal(found.fix, "start their primary, or assign them with redis-cli --cluster fix");
  });

  t.test("does not answer", async (t) => {
    for (const node of nodes) node.signal("SIGKILL");
    const [finding, ...others] = await untilFound(t, url, "no node of REDIS_URL can be used");
    t.match(finding, { status: "failed", fix: /^start the cluster, or correct REDIS_URL/ });
    for (const node of nodes) t.match(finding?.message, `${addressOf(node)} (`);
    t.same(others, []);
  });
});

t.test("a server that is no Redis Cluster is not used as one", async (t) => {
  const { url } = await startPrivateRedis(t);
  t.match(await examine(t, `${url}?cluster=true`), [
    { status: "failed", message: /^no node of REDIS_URL can be used: .*cluster support disabled/ },
  ]);
});

t.test("a server refuses the database of REDIS_URL", async (t) => {
  const { url } = await startPrivateRedis(t);
  t.match(await examine(t, `${url}/99`), [{ status: "failed", message: /DB index is out of range/ }]);
});

t.test("Redis Sentinel", async (t) => {
  const { url, primary, replica, sentinels } = await startSentinels(t);
  const last = sentinels[2] as (typeof sentinels)[number];
  const monitor = (node: RedisNode) => last.call("sentinel", "monitor", "herald", "127.0.0.1", node.port, 2);

  t.test("is named with its primary", async (t) => {
    const message = `${addressOf(primary)} answers and accepts writes; 3 of 3 sentinels answer and name it as "herald"`;
    t.same(await examine(t, url), [{ check: "redis", status: "ok", message }]);
    const keys = String(await primary.call("info", "keyspace"));
    t.match(keys, /^db3:keys=1,/m, "in the database of the URL");
  });

  t.test("is not found by a wrong name or password", async (t) => {
    t.match(await examine(t, url.replace("=herald", "=other")), [
      { status: "failed", message: /answer and know no primary "other"$/, fix: /SENTINEL MASTERS/ },
    ]);
    t.match(await examine(t, url.replace("sentinel_password=", "sentinel_password=x")), [
      { status: "failed", message: /^no sentinel can be used: .*WRONGPASS/, fix: /sentinel_password/ },
    ]);
    t.match(await examine(t, url.replace("redis://:", "redis://:x")), [
      { status: "failed", message: `${addressOf(primary)} cannot be used: WRONGPASS` },
    ]);
  });

  t.test("has a sentinel that disagrees with the others", async (t) => {
    await last.call("sentinel", "remove", "herald");
    t.match(await examine(t, url), [
      {
        status: "warning",
        message: `the sentinel ${addressOf(last)} knows no primary "herald", which others`,
      },
    ]);
    await monitor(replica);
    t.match(await examine(t, url), [
      {
        status: "warning",
        message: `, ${addressOf(last)} names ${addressOf(replica)}`,
        fix: /SENTINEL RESET/,
      },
    ]);
    await last.call("sentinel", "remove", "herald");
    await monitor(primary);
    t.match(await examine(t, url), [{ status: "ok" }]);
  });

  t.test("has a sentinel that does not answer, and a primary that refuses writes", async (t) => {
    last.signal("SIGKILL");
    const silent = { status: "warning", message: `the sentinel ${addressOf(last)} cannot be used` };
    t.match(await untilFound(t, url, addressOf(last)), [silent]);
    await primary.call("config", "set", "maxmemory", "1");
    t.match(await examine(t, url), [
      {
        status: "failed",
        message: `${addressOf(primary)} refuses writes: OOM`,
        fix: /^wait until a failover/,
      },
      silent,
    ]);
    primary.signal("SIGKILL");
    t.match(await untilFound(t, url, `${addressOf(primary)} cannot be used`), [{ status: "failed" }, silent]);
  });

  t.test("does not answer", async (t) => {
    for (const sentinel of sentinels) if (sentinel.isRunning()) sentinel.signal("SIGKILL");
    const [finding, ...others] = await untilFound(t, url, "no sentinel can be used");
    t.equal(finding?.status, "failed");
    for (const sentinel of sentinels) t.match(finding?.message, `${addressOf(sentinel)} (`);
    t.same(others, []);
  });
});
