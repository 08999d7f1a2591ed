import t from "tap";
import type { Fields } from "../../../src/runtime/log.ts";
import { CLUSTER_FAULTS, startClusterFault } from "../../failover/cases/clusters.ts";
import { startLoadedDeployment } from "../../failover/frame/loaded-deployment.ts";
import { until } from "../../fixtures/until.ts";

const LOAD = {
  size: { web: 1, dispatcher: 2, scheduler: 0 },
  ...{ clients: 12, channels: 4, perSecond: 200, backlog: 100 },
};
const RECEIVED_MESSAGES = 1_000;
const LANES = ["events", "outbound"];

/** `npm run test:failover` causes further faults and measures the recovery. */
t.test(
  "while a primary of a Redis Cluster is killed, nothing is lost or sent twice, and wake-ups return",
  async (t) => {
    const [killedPrimary] = CLUSTER_FAULTS;
    t.equal(killedPrimary?.name, "killed-primary");
    const fault = await startClusterFault(t, killedPrimary as (typeof CLUSTER_FAULTS)[number]);
    const settings = { REDIS_URL: fault.REDIS_URL };
    const { load, deployment, finish } = await startLoadedDeployment(t, { ...LOAD, settings });
    await until("messages are received", () => load.acknowledged.length > 100);
    await fault.cause();
    const lastEvent = (lines: readonly Fields[], lane: string) =>
      lines.findLast((line) => line.lane === lane && String(line.event).startsWith("stream_reader."))?.event;
    for (const {
      process: { waitForLine, lines },
    } of deployment.running("dispatcher"))
      for (const lane of LANES) {
        await waitForLine("stream_reader.failed", { lane });
        await until(`${lane} are read`, () => lastEvent(lines(), lane) === "stream_reader.recovered");
      }
    t.ok((await finish(RECEIVED_MESSAGES)).items >= RECEIVED_MESSAGES);
  },
);
