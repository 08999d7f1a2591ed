import { setTimeout as sleep } from "node:timers/promises";
import type { Test } from "tap";
import { type Program, REDIS } from "../../../src/local/programs.ts";
import { taggedKey, tagOf, tagsOf } from "../../../src/queue/wake-ups.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import { VALKEY } from "../../fixtures/servers/programs.ts";
import { type RedisCluster, type RedisNode, startCluster } from "../../fixtures/servers/redis-cluster.ts";
import { until } from "../../fixtures/until.ts";
import type { FailoverCase } from "../frame/case.ts";
import { measureRedisFault, type RedisFault } from "../frame/measure.ts";

/** Faults of a Redis Cluster of three primaries and three replicas. */

const TAGS = tagsOf({ REDIS_URL: { cluster: true, nodes: [] } });
const eventsKey = (tag: number) => taggedKey(tag, "events");

/** The node that a fault concerns: the primary of the first tag. */
const FAULTY_KEY = eventsKey(TAGS[0] as number);

interface ClusterFault {
  name: string;
  fault: string;
  cause(t: Test, cluster: RedisCluster, primary: RedisNode): Promise<void>;
}

/** Resolves when another node knows a successor. */
async function untilReplaced(cluster: RedisCluster, primary: RedisNode): Promise<void> {
  const other = cluster.nodes.find((node) => node !== primary) as RedisNode;
  await until("a successor is elected", async () => (await cluster.primaryOf(FAULTY_KEY, other)) !== primary);
}

const FREEZE_MS = 10 * SECOND;

export const CLUSTER_FAULTS: readonly ClusterFault[] = [
  {
    name: "killed-primary",
    fault: "a primary is killed",
    async cause(_, cluster, primary) {
      primary.signal("SIGKILL");
      await untilReplaced(cluster, primary);
    },
  },
  {
    name: "moved-slots",
    fault: "the slots of four of the twelve tags move to another primary",
    async cause(_, cluster, primary) {
      const other = await cluster.primaryOf(eventsKey(TAGS.at(-1) as number));
      for (const tag of TAGS)
        if ((await cluster.primaryOf(eventsKey(tag))) === primary)
          await cluster.moveSlotOf(eventsKey(tag), other);
    },
  },
  {
    name: "restarted-node",
    fault: "a primary is stopped and started again, empty",
    async cause(_, cluster, primary) {
      primary.signal("SIGTERM");
      await primary.restart();
      const isCovered = async (node: RedisNode) =>
        String(await node.call("cluster", "info")).includes("cluster_state:ok");
      await until("all slots have a primary", async () =>
        (await Promise.all(cluster.nodes.map(isCovered))).every(Boolean),
      );
    },
  },
  {
    name: "frozen-node",
    fault: `a primary is frozen for ${FREEZE_MS / SECOND} s`,
    async cause(t, cluster, primary) {
      primary.signal("SIGSTOP");
      const thawed = sleep(FREEZE_MS).then(() => primary.signal("SIGCONT"));
      t.teardown(() => thawed);
      await untilReplaced(cluster, primary);
    },
  },
  {
    name: "forced-takeover",
    fault: "a replica takes over from a primary that works",
    async cause(_, cluster, primary) {
      await (await cluster.replicaOf(primary)).call("cluster", "failover", "takeover");
      await untilReplaced(cluster, primary);
    },
  },
];

/** Starts a cluster, and returns the fault with the clients whose tags the faulty primary has. */
export async function startClusterFault(
  t: Test,
  { cause }: ClusterFault,
  program?: Program,
): Promise<RedisFault> {
  const cluster = await startCluster(t, { primaries: 3, replicas: 1, ...(program ? { program } : {}) });
  const primary = await cluster.primaryOf(FAULTY_KEY);
  const primaries = await Promise.all(TAGS.map((tag) => cluster.primaryOf(eventsKey(tag))));
  const affected = TAGS.filter((_, index) => primaries[index] === primary);
  return {
    REDIS_URL: cluster.url,
    isAffected: (clientId) => affected.includes(tagOf(clientId, TAGS)),
    cause: () => cause(t, cluster, primary),
  };
}

const ENGINES = [
  { name: "redis-cluster", engine: "Redis Cluster, 3 + 3 nodes", program: REDIS },
  { name: "valkey-cluster", engine: "Valkey cluster, 3 + 3 nodes", program: VALKEY },
] as const;

export const CLUSTER_CASES: readonly FailoverCase[] = ENGINES.flatMap(({ name, engine, program }) =>
  CLUSTER_FAULTS.map((fault) => ({
    name: `${name}/${fault.name}`,
    engine,
    program,
    fault: fault.fault,
    run: async (t) => measureRedisFault(t, await startClusterFault(t, fault, program)),
  })),
);
