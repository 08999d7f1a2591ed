import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Test } from "tap";
import { REDIS } from "../../../src/local/programs.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import { makeTempFolder } from "../../fixtures/servers/folders.ts";
import { VALKEY } from "../../fixtures/servers/programs.ts";
import { type RedisNode, startNode } from "../../fixtures/servers/redis-cluster.ts";
import type { FailoverCase } from "../frame/case.ts";
import { measureRedisFault } from "../frame/measure.ts";

/** Faults of a single server. Nothing replaces it, so it recovers when it answers again. */

const OUTAGE_MS = 10 * SECOND;

const ENGINES = [
  { name: "redis", engine: "Redis", program: REDIS },
  { name: "valkey", engine: "Valkey", program: VALKEY },
] as const;

const FAULTS = [
  {
    name: "killed-server",
    fault: `the server is killed, and started again after ${OUTAGE_MS / SECOND} s, empty`,
    async cause(node: RedisNode) {
      node.signal("SIGKILL");
      await sleep(OUTAGE_MS);
      await node.restart();
    },
  },
  {
    name: "frozen-server",
    fault: `the server is frozen for ${OUTAGE_MS / SECOND} s`,
    async cause(node: RedisNode) {
      node.signal("SIGSTOP");
      await sleep(OUTAGE_MS);
      node.signal("SIGCONT");
    },
  },
] as const;

export const SERVER_CASES: readonly FailoverCase[] = ENGINES.flatMap(({ name, engine, program }) =>
  FAULTS.map(({ name: faultName, fault, cause }) => ({
    name: `${name}/${faultName}`,
    ...{ engine, program, fault },
    async run(t: Test) {
      const options = { folder: makeTempFolder(t), password: randomBytes(12).toString("hex"), settings: [] };
      const node = await startNode(t, { ...options, program });
      return measureRedisFault(t, { REDIS_URL: node.url, isAffected: () => true, cause: () => cause(node) });
    },
  })),
);
