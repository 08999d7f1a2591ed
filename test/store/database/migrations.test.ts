import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { QueryConfig } from "pg";
import t from "tap";
import { packageRoot } from "../../../src/runtime/package-root.ts";
import { applyMigrations, inspectMigrations } from "../../../src/store/database/migrations.ts";
import { cloneDatabase, connectRawClient } from "../../fixtures/servers/servers.ts";

const FOLDER = join(packageRoot(), "sql");
const FILES = readdirSync(FOLDER).sort();

/** SHA-256 of every migration. A new file adds a line; existing lines never change. */
const MIGRATION_HASHES: Record<string, string> = {
  "001_tenants.sql": "aa8e8b0e77a69d18f3102552ecb0b22612e7a57c788d22d31ab49dcc951447d6",
  "002_processes.sql": "9f42053c679f14602a812fc17799ef07f6c15e2b0eb64662b31ecb0694aa9057",
  "003_channels.sql": "13f08939b3010caaf5d73708f34a4190d4d6002e219018c0a4e0f277004007c5",
  "004_events.sql": "1550af9c6db4fb7330a3a471d6ee24d9ad367ea2cdab33dbf6589f431b9574d9",
  "005_messages.sql": "6823c6eb7911431168a37bc67785d29048f976a8dec5e2bdae90d6c9bc91bdad",
  "006_ads.sql": "75d4ca7b7cc484391a245d6acadd77b76115f97a109cffdacba8327f387ed023",
  "007_embed.sql": "ff9057875a54627a9844d299120489aa985d88d1c69e9bc2be92d2a0ee895e9b",
  "008_stats.sql": "e287d936247a708d0ce1ee0245dfd2e3338791fe67807931b6947f0450ad20f2",
  "009_failure_codes.sql": "926eaa5a5de05899722a4ba808b0c08b9d515e53cf6721d9baad128385c4bd54",
  "010_failures.sql": "1d04248e36823e005bec983a4dde1a37c380aaa0e8cc43d433ea9cf62734b3eb",
  "011_batches.sql": "2df02ca81f3ffc3b9179acd56c55dba6e3cf068fa43dd364fae00a638c70cc5c",
  "012_queue_hold_reason.sql": "83db6b22b6a646ad13a3f9eef1798a4ba8304c83ec586494fe596aaf621491ff",
  "013_embed_appearance.sql": "26d1ad45c6b9250e0b4595c2b767f529629cc3042e754851ae245075e1d4dcd8",
  "014_stream_generation.sql": "69de7160229517041e69e495d50cc89f03af8f6664a9de2ddff2bbb3b6131f7a",
  "015_reserved_pages.sql": "441736fe588d275f460115ec34467c97f0021d365045cc9fa7cfdcc9fd1e455a",
};

t.test("concurrent runs apply each file once, and a later run applies none", async (t) => {
  const url = await cloneDatabase(t, "template0");
  const [one, other] = await Promise.all([applyMigrations(url), applyMigrations(url)]);
  t.same(
    [...one, ...other].filter((file) => FILES.includes(file)),
    FILES,
  );
  t.same(await applyMigrations(url), []);
  const client = await connectRawClient(t, url);
  const { rows } = await client.query(
    "select count(*)::int as tables from pg_tables where tablename = 'clients'",
  );
  t.same(rows, [{ tables: 1 }]);
});

t.test("migration files are numbered from 1 without a gap", async (t) => {
  t.same(
    FILES.map((file) => Number(file.slice(0, 3))),
    FILES.map((_, index) => index + 1),
  );
});

t.test("no migration is edited, renamed or removed after it was released", async (t) => {
  const hashOf = (file: string) =>
    createHash("sha256")
      .update(readFileSync(join(FOLDER, file)))
      .digest("hex");
  t.same(
    Object.fromEntries(FILES.map((file) => [file, hashOf(file)])),
    MIGRATION_HASHES,
    "databases have applied these files: put the change into a new file and add its hash",
  );
});

t.test("the codes of failed messages and of retried sends are read from their stored errors", async (t) => {
  const client = await connectRawClient(t, await cloneDatabase(t));
  const errors = [
    ['{"code":131026,"title":"x","message":"{\\"code\\":1}","details":null}', "131026"],
    ['{"code":"expired","title":"Not sent in time","message":"x","details":null}', "expired"],
    ['{"code":"a\\u0000b","title":null,"message":null,"details":null}', null],
    [null, null],
  ] as const;
  const texts = errors.map(([error]) => error);
  const rows = "from unnest($1::text[]) with ordinality e (error, n)";
  await client.query(
    `insert into messages
      (client_id, id, channel_id, platform, recipient, recipient_kind, type, content, status, error)
    select gen_random_uuid(), 'msg_' || n, 'ch', 'chatapp', '1', 'phone', 'text', '{}', 'failed', error ${rows}`,
    [texts],
  );
  await client.query(
    `insert into sends (client_id, id, channel_id, recipient, expires_at, last_error)
    select gen_random_uuid(), 'msg_' || n, 'ch', '1', now(), error ${rows}`,
    [texts],
  );
  const updates = readFileSync(join(FOLDER, "010_failures.sql"), "utf8").match(/^update [^;]*/gm) ?? [];
  t.equal(updates.length, 2);
  for (const update of updates) await client.query(update);
  for (const column of ["error_code from messages", "last_error_code as error_code from sends"]) {
    const found = await client.query(`select ${column} order by id`);
    t.same(
      found.rows.map(({ error_code }) => error_code),
      errors.map(([, code]) => code),
    );
  }
});

/** Row 1 of `migrations`, and one of the tables, of a database that was created before the first release. */
const PRERELEASE_DATABASE = `
  create table migrations (id integer primary key, name text not null, hash text not null, executed_at timestamp);
  insert into migrations values (0, 'create-migrations-table', 'x', now()), (1, 'clients', 'y', now());
  create table clients (id uuid primary key);`;

t.test("a database created before the first release is refused and not changed", async (t) => {
  const url = await cloneDatabase(t, "template0");
  const client = await connectRawClient(t, url);
  await client.query(PRERELEASE_DATABASE);
  await t.rejects(applyMigrations(url), { name: "PrereleaseDatabase", message: /Create an empty database/ });
  const state = await inspectMigrations({
    query: async (statement) => (await client.query(statement as QueryConfig)).rows,
  });
  t.same(state, { pending: FILES, changed: [], isPrerelease: true });
  const { rows } = await client.query(
    "select tablename from pg_tables where schemaname = 'public' order by 1",
  );
  t.same(
    rows.map(({ tablename }) => tablename),
    ["clients", "migrations"],
  );
});
