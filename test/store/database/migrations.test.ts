import { readdirSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../../src/runtime/package-root.ts";
import { applyMigrations } from "../../../src/store/database/migrations.ts";
import { cloneDatabase, rawClient } from "../../fixtures/servers/servers.ts";

const FILES = readdirSync(join(packageRoot(), "sql")).sort();

t.test("two at once apply each file once; a later run finds nothing to do", async (t) => {
  const url = await cloneDatabase(t, "template0");
  const [one, other] = await Promise.all([applyMigrations(url), applyMigrations(url)]);
  t.same(
    [...one, ...other].filter((file) => FILES.includes(file)),
    FILES,
  );
  t.same(await applyMigrations(url), []);
  const client = await rawClient(t, url);
  const { rows } = await client.query(
    "select count(*)::int as tables from pg_tables where tablename = 'clients'",
  );
  t.same(rows, [{ tables: 1 }]);
});

t.test("the files are numbered from 1 without a gap", async (t) => {
  t.same(
    FILES.map((file) => Number(file.slice(0, 3))),
    FILES.map((_, index) => index + 1),
  );
});
