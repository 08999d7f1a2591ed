import t from "tap";
import { readConfig } from "../../src/runtime/config/config.ts";
import { createDatabase } from "../../src/store/database/database.ts";
import { claimTick } from "../../src/store/processes/cron-runs.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
import { connectRawClient } from "../fixtures/servers/servers.ts";

t.test("herald job", async (t) => {
  const settings = await testSettings(t);
  const db = createDatabase(readConfig(settings), () => {});
  t.teardown(() => db.close());
  const raw = await connectRawClient(t, settings.DATABASE_URL as string);
  const herald = createCommandRunner(t, settings);
  const aliveWorkers = async () => (await raw.query("select process from workers")).rows;

  t.test("list has every job, also before its first run", async (t) => {
    t.same((await herald("job list --json")).json, {
      data: ["tokens", "reports", "stats", "maintenance"].map((job) => ({
        job,
        last_success: null,
        running_seconds: 0,
      })),
    });
  });

  t.test("run runs a job like a scheduler, and records the run", async (t) => {
    for (const job of ["tokens", "reports", "stats", "maintenance"]) {
      const { code, json, err } = await herald(["job", "run", job, "--json"]);
      t.equal(code, 0);
      t.equal(err, "");
      t.match(json, { job, outcome: "ok", ms: Number });
    }
    const { rows } = await raw.query("select job, outcome from cron_runs order by scheduled_at");
    t.same(
      rows,
      ["tokens", "reports", "stats", "maintenance"].map((job) => ({ job, outcome: "ok" })),
    );
    t.match((await herald("job list --json")).json.data, [
      { last_success: /^20/ },
      {},
      {},
      { last_success: /^20/ },
    ]);
    t.match((await herald("job run stats")).out, /^job +stats\noutcome +ok\n/);
    t.same(await aliveWorkers(), [], "the heartbeat of the command is removed");
  });

  t.test("run starts nothing while a scheduler runs the job", async (t) => {
    await raw.query(
      "insert into workers (id, process, heartbeat_at) values ('wrk_1', 'scheduler', now() + interval '1 hour')",
    );
    await claimTick(db, { job: "stats", scheduledAt: new Date(), worker: "wrk_1" });
    const { code, out, err } = await herald("job run stats");
    t.equal(code, 1);
    t.equal(out, "");
    t.match(err, "the job stats is running already, on wrk_1; nothing was started");
    t.equal((await herald("job run reports")).code, 0, "another job runs");
    t.same(await aliveWorkers(), [{ process: "scheduler" }]);
  });

  t.test("a run that fails has exit code 1 and its reason", async (t) => {
    await raw.query("alter table late_changes rename to hidden_changes");
    await raw.query("delete from cron_runs where finished_at is null");
    const { code, json } = await herald("job run stats --json");
    await raw.query("alter table hidden_changes rename to late_changes");
    t.equal(code, 1);
    t.match(json, { job: "stats", outcome: "failed", err: /late_changes/ });
  });

  t.test("an unknown job is refused", async (t) => {
    t.match(await herald("job run backups"), { code: 2, err: /NAME must be one of tokens, reports, stats/ });
    t.match(await herald("job run"), { code: 2, err: /missing required argument/ });
  });
});
