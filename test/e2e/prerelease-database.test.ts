import t from "tap";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { startProcess, startWeb } from "../fixtures/processes/processes.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
import { connectRawClient } from "../fixtures/servers/servers.ts";
import { until } from "../fixtures/until.ts";

const MESSAGE =
  /created by a version of Herald before the first release and cannot be migrated; nothing was changed\. Create an empty database/;

t.test(
  "a database that was created before the first release is refused by every process and not changed",
  async (t) => {
    const settings = await testSettings(t);
    const raw = await connectRawClient(t, settings.DATABASE_URL as string);
    await raw.query("update migrations set name = 'clients' where id = 1");
    await raw.query("drop table attempts cascade");
    const readTables = async () =>
      (
        await raw.query(
          "select relname, relkind from pg_class where relnamespace = 'public'::regnamespace order by 1",
        )
      ).rows;
    const before = await readTables();

    t.test("migrate exits with code 1 and says what to do", async (t) => {
      const migrate = startProcess(t, "migrate", settings);
      t.equal(await migrate.ended(), 1);
      t.match(migrate.lines(), [{ event: "migrations.failed", level: "error", err: MESSAGE }]);
    });

    const herald = createCommandRunner(t, settings);
    for (const command of ["migrate", "demo"])
      t.test(`herald ${command} exits with code 1 and says what to do`, async (t) => {
        const { code, err } = await herald(command);
        t.equal(code, 1);
        t.match(err, MESSAGE);
      });

    t.test("herald doctor reports it", async (t) => {
      const { code, out } = await herald("doctor");
      t.equal(code, 1);
      t.match(out, /migrations .*created before the first release.*Create an empty database/s);
    });

    for (const name of ["dispatcher", "scheduler"])
      t.test(`${name} exits with code 1 at its start and says what to do`, async (t) => {
        const process = startProcess(t, name, settings);
        t.equal(await process.ended(), 1);
        t.match(process.stdout(), MESSAGE);
      });

    t.test("web is not ready and says what to do", async (t) => {
      const web = await startWeb(t, settings);
      await until("readiness reports it", async () => {
        const { status, body } = await web.call("GET", "/readyz");
        return status === 503 && (body as { postgres?: string }).postgres === "unmigrated";
      });
      t.match(await web.waitForLine("migrations.refused"), { level: "error", err: MESSAGE });
      t.match(await web.waitForLine("partitions.create_failed"), { err: MESSAGE });
    });

    t.test("nothing was changed", async (t) => {
      t.same(await readTables(), before);
    });
  },
);
