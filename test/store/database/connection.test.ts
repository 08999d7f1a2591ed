import { join } from "node:path";
import t from "tap";
import { startPostgres } from "../../../src/local/postgres.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { DatabaseUnavailable } from "../../../src/store/database/faults.ts";
import { testConfig } from "../../fixtures/processes/settings.ts";
import { createSelfSignedCertificate } from "../../fixtures/servers/certificate.ts";
import { makeTempFolder } from "../../fixtures/servers/folders.ts";
import { postgresProgram } from "../../fixtures/servers/programs.ts";

t.test("sslmode has the meaning of libpq", async (t) => {
  const folder = makeTempFolder(t);
  const { cert, key } = createSelfSignedCertificate(folder);
  const settings = ["ssl=on", `ssl_cert_file=${cert}`, `ssl_key_file=${key}`];
  const server = await startPostgres({
    program: postgresProgram(),
    folder: join(folder, "pg"),
    durable: false,
    settings,
  });
  t.teardown(() => server.stop());

  const isEncrypted = async (query: string) => {
    const DATABASE_URL = server.url + query;
    const db = createDatabase({ DATABASE_URL, DATABASE_POOL: 1, DATABASE_PREPARED: true }, () => {});
    try {
      const rows = await db.query<{ ssl: boolean }>(
        "select ssl from pg_stat_ssl where pid = pg_backend_pid()",
      );
      return rows[0]?.ssl;
    } finally {
      await db.close();
    }
  };

  t.equal(await isEncrypted(""), false);
  t.equal(await isEncrypted("?sslmode=disable"), false);
  process.env.PGSSLMODE = "no-verify"; // for URLs provided by a hosting platform, which cannot be changed
  t.equal(await isEncrypted(""), true);
  delete process.env.PGSSLMODE;
  t.equal(await isEncrypted("?sslmode=require"), true);
  t.equal(await isEncrypted("?sslmode=no-verify"), true);
  await t.rejects(isEncrypted("?sslmode=verify-full"), /self-signed/);
  t.equal(await isEncrypted(`?sslmode=verify-full&sslrootcert=${cert}`), true);
});

t.test("what a standby cannot read is an outage and not a fault of the process", async (t) => {
  const db = createDatabase(await testConfig(t), () => {});
  t.teardown(() => db.close());
  const refusal = "cannot access temporary or unlogged relations during recovery";
  const read = db.query(`do $$ begin raise exception '${refusal}' using errcode = '0A000'; end $$`);
  t.ok((await read.catch((error: unknown) => error)) instanceof DatabaseUnavailable);
});
