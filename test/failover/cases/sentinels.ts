import { setTimeout as sleep } from "node:timers/promises";
import type { Test } from "tap";
import { REDIS } from "../../../src/local/programs.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import { VALKEY } from "../../fixtures/servers/programs.ts";
import { type SentinelGroup, startSentinels } from "../../fixtures/servers/redis-sentinel.ts";
import type { FailoverCase } from "../frame/case.ts";
import { measureRedisFault } from "../frame/measure.ts";

/** Faults of a primary that three sentinels watch and replace. */

const FREEZE_MS = 10 * SECOND;

const ENGINES = [
  { name: "redis-sentinel", engine: "Redis, 1 + 1 servers, 3 sentinels", program: REDIS },
  { name: "valkey-sentinel", engine: "Valkey, 1 + 1 servers, 3 sentinels", program: VALKEY },
] as const;

const FAULTS = [
  {
    name: "killed-primary",
    fault: "the primary is killed",
    cause: (_: Test, { primary }: SentinelGroup) => primary.signal("SIGKILL"),
  },
  {
    name: "frozen-primary",
    fault: `the primary is frozen for ${FREEZE_MS / SECOND} s`,
    cause(t: Test, { primary }: SentinelGroup) {
      primary.signal("SIGSTOP");
      const thawed = sleep(FREEZE_MS).then(() => primary.signal("SIGCONT"));
      t.teardown(() => thawed);
    },
  },
] as const;

export const SENTINEL_CASES: readonly FailoverCase[] = ENGINES.flatMap(({ name, engine, program }) =>
  FAULTS.map(({ name: faultName, fault, cause }) => ({
    name: `${name}/${faultName}`,
    ...{ engine, program, fault },
    async run(t: Test) {
      const group = await startSentinels(t, { program });
      return measureRedisFault(t, {
        REDIS_URL: group.url,
        isAffected: () => true,
        cause() {
          cause(t, group);
          return group.untilReplaced();
        },
      });
    },
  })),
);
