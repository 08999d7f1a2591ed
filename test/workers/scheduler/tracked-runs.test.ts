import t from "tap";
import { CRON_EVERY_SECOND, openDatabase, startSchedulers } from "../../fixtures/processes/schedulers.ts";
import { recordWork } from "../../fixtures/recorded-work.ts";
import { until } from "../../fixtures/until.ts";

t.test("a run is tracked by the name of its job until it ends or fails", async (t) => {
  const { tracker, calls } = recordWork();
  let runs = 0;
  const job = {
    name: "tokens",
    expression: CRON_EVERY_SECOND,
    async run() {
      calls.push("run");
      runs += 1;
      if (runs > 1) throw new Error("a defect");
      return {};
    },
  };
  const { ran } = await startSchedulers(t, { db: await openDatabase(t), jobs: [job], tracker });
  await until(
    "a run has succeeded and one has failed",
    () => ran("ok").length > 0 && ran("failed").length > 0,
  );
  const oneRun = ["begin job tokens", "run", "end job tokens"];
  t.same(calls.slice(0, 6), [...oneRun, ...oneRun]);
});
