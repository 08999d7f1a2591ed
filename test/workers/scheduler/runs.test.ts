import t from "tap";
import { createRuns } from "../../../workers/scheduler/runs.ts";
import { captureLog } from "../../fixtures/captured-log.ts";
import { CRON_EVERY_SECOND, openDatabase } from "../../fixtures/processes/schedulers.ts";
import { recordWork } from "../../fixtures/recorded-work.ts";

t.test("two ticks that are claimed at the same time start the job once", async (t) => {
  let [begun, end] = [0, () => {}];
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const job = {
    name: "slow",
    expression: CRON_EVERY_SECOND,
    async run() {
      begun += 1;
      await ended;
      return {};
    },
  };
  const outcomes: string[] = [];
  const runs = createRuns({
    id: "wrk_1",
    jobs: [job],
    db: await openDatabase(t),
    log: captureLog().log,
    recordTick: (_, outcome) => void outcomes.push(outcome),
    tracker: recordWork().tracker,
    aliveForMs: () => 0,
    deadAfter: 10_000,
  });
  const first = runs.onTick(job, new Date(1_000));
  await runs.onTick(job, new Date(2_000));
  t.same(outcomes, ["overlapped"]);
  t.equal(begun, 1);
  end();
  await first;
  t.same(outcomes, ["overlapped", "ok"]);
});
