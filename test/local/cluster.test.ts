import t from "tap";
import { withMetricsPort } from "../../src/local/cluster.ts";

t.test("each process of a local cluster has its own metrics port", async (t) => {
  const portOf = (name: string, METRICS_PORT: string) => withMetricsPort({ METRICS_PORT }, name).METRICS_PORT;
  t.equal(portOf("web", "9400"), "9400");
  t.equal(portOf("dispatcher", "9400"), "9401");
  t.equal(portOf("scheduler", "9400"), "9402");
  t.equal(portOf("dispatcher", ""), "", "no metrics");
  t.equal(portOf("dispatcher", "nonsense"), "nonsense", "the process reports the wrong value");
  t.same(withMetricsPort({ PORT: "1" }, "dispatcher"), { PORT: "1" });
});
