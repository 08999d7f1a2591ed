import t from "tap";
import type { Fields } from "../../../src/runtime/log.ts";
import { CLUSTER_FAULTS, startClusterFault } from "../../failover/cases/clusters.ts";
import { startLoadedDeployment } from "../../failover/frame/measure.ts";
import { until } from "../../fixtures/until.ts";

const SIZE = { clients: 12, channels: 4, received: 1_000, perSecond: 200, backlog: 100 };
const LANES = ["events", "outbound"];

/** `npm run test:failover` causes further faults and measures the recovery. */
t.test(
  "while a primary of a Redis Cluster is killed, nothing is lost or sent twice, and wake-ups return",
  async (t) => {
    const [killedPrimary] = CLUSTER_FAULTS;
    t.equal(killedPrimary?.name, "killed-primary");
    const fault = await startClusterFault(t, killedPrimary as (typeof CLUSTER_FAULTS)[number]);
    const { load, dispatchers, finish } = await startLoadedDeployment(t, fault, SIZE);
    await until("messages are received", () => load.acknowledged.length > 100);
    await fault.cause();
    const lastEvent = (lines: readonly Fields[], lane: string) =>
      lines.findLast((line) => line.lane === lane && String(line.event).startsWith("stream_reader."))?.event;
    for (const { waitForLine, lines } of dispatchers)
      for (const lane of LANES) {
        await waitForLine("stream_reader.failed", { lane });
        await until(`${lane} are read`, () => lastEvent(lines(), lane) === "stream_reader.recovered");
      }
    t.ok((await finish()).items >= SIZE.received);
  },
);
