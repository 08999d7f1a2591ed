import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../../src/runtime/package-root.ts";
import { applyMigrations } from "../../../src/store/database/migrations.ts";
import { cloneDatabase, connectRawClient } from "../../fixtures/servers/servers.ts";

const FOLDER = join(packageRoot(), "sql");
const FILES = readdirSync(FOLDER).sort();

/** SHA-256 of every migration. A new file adds a line; existing lines never change. */
const MIGRATION_HASHES: Record<string, string> = {
  "001_clients.sql": "d6e7fad197c0e3820c4401f87e7dc5e1f6de5e84671dac2d19976ef33d77d978",
  "002_workers.sql": "70ad1d8b02dd834c245eafa61976c92f4dddc8acae77f0db1616fb5f3a4bb2a4",
  "003_cron_runs.sql": "675746e1ad84eec12eac2b43d9bbfab9176ea3a6b29c8174f0ee933bb4285a0a",
  "004_users.sql": "bce9cfedd952906d32c6c13717f2d185504abe1ebeb3fb0fd83509a07a852c40",
  "005_api_keys.sql": "f382d774bbb29206cf756dd9e8164355814d8d9706e4198d73b601abe65e2786",
  "006_audit_log.sql": "251383d6352255878d7ffa082148467fb230dcda88f28be8ee0ca6c6ab266f2d",
  "007_channels.sql": "a5a2c2c5d7784371b6d1741a51e4f07836d97b97d54bd2475879b160d28b63bb",
  "008_ad_accounts.sql": "a11e471083cb5e271bbe7dbb589b6afd08a14203fc3cf039dd09688eb507c6e4",
  "009_webhook_configs.sql": "75a93e4967d9a26af26fc26fa54ba2298cf4a350d50fe5edecd43dd0d8e377dd",
  "010_events.sql": "a9b2596a58ca53ef95ec00306cb1b923b3273813836cbbbcee1ea1b52c8ae16e",
  "011_data_deletions.sql": "082525e8849dc41a9d52b24cac23b1474d643d344156f3af650b832c8dd2b5b6",
  "012_delivery_queue.sql": "7dfc8683064b0b6bab224ba41fe07cfa02c2f3ddfdfbf6b13bf0220cc61e97dd",
  "013_messages.sql": "1e7ee92623ea6d5016093cbb36c0f891affd3e3659a19e37dce67a2fb5a9df96",
  "014_terms.sql": "332fb58545a0cee8a15cdd070442813e6c697979f8fef66058492d2fba5cd6ac",
  "015_ad_grants.sql": "d4009e31eef7ca649308a78f17ded82d41522dab784e813817d96cbeec8d3d8f",
  "016_cron_overlaps.sql": "536242cfd4c50e21d3e8dc52daa7552315981f06e7ee6f465536196d9679cac4",
  "017_outcome_unknown.sql": "ec443cec63a0c379026ff6005dd9c41ff054c2d8362787937c671b0dfeb65965",
  "018_deaths.sql": "9e267ce21b532bdeff6ed6be33a40799a4f6bbbb3dd88667048e3845648faf73",
  "019_sessions.sql": "3168783116157b9339de8647abc4f290a9f9748799dd480feb2bcdc63b6965fb",
  "020_claimed_operations.sql": "c86a13f855120fdce207cbccce7028f2b953e080848d8259d5dc19ff7a20d5a6",
  "021_ad_videos.sql": "dc68b8e372fe3030c94062c22458025e20650f2d343584bf0d996f6baeb9f012",
  "022_insights_reports.sql": "a614de4cf6ec34d2d0f37b610c03aa7446058a86c04e4eb39114713e6afcdd03",
  "023_embed_sessions.sql": "51c39d6d2911f03475f35ab83b37f57b626f22bbba1e546bc9a34818d8307e70",
  "024_stats.sql": "77d2393035f4341fa387589682c8e76609a90ff0f63127f4a5c7b2ebd9a63af9",
  "025_queue_hold.sql": "a00334ce6f3a2e65abff5da1a470e05b23f55afa132b37e9c405d8ec02f2e2eb",
  "026_message_timeline.sql": "6c44b6b82976a8cbf0c75cdecdf3690d9cb49e2d126a4160f1b2b721daea297b",
  "027_sends_due.sql": "0208c46f7f610714f482c653cf6aa624da230f1ae92c024b694a0ed20fa82058",
  "028_signup_grant_users.sql": "39f6175ae772a7c15b5e4ae0435deec18cc5e520b58e2fba2d5234f3b10a4063",
  "029_ad_videos_created_at.sql": "5d48241038ab78af350d94eccd32d70c592d369b09a766aee03b7e6cb918fce8",
  "030_webhook_token_header.sql": "69059d27c798eb857458e6b716a70c238cd69baabe964ccc046b63084b3a5883",
  "031_deleted_clients.sql": "54c9d8706b471b02300b2ce88358268404d386a6506cf79a5cf4b9860f8fc139",
  "032_cron_checks.sql": "e6dc53fe24cf2cc1ced22a0927313e7586c21c49f4c785473f3af813d04f90cc",
  "033_delivery_rows.sql": "68fcf79fc997574e332cb548250a9c6c3f9d1e9a6de15270034ee2d439c20fbd",
  "034_delivery_columns.sql": "7942680d0001dcb6faa4cc7e3fbff34a4dfa4b5e103aea62fef36d3525028b07",
  "035_send_keys.sql": "7b07679677cfe0fa5bd4416dc55cf3aeccab00eadbcd24c8d431adb4a6ed88cb",
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

t.test("migration 019 names the creators of existing keys from the audit log", async (t) => {
  const raw = await connectRawClient(t, await cloneDatabase(t, "template0"));
  const apply = (file: string) => raw.query(readFileSync(join(FOLDER, file), "utf8"));
  for (const file of FILES.slice(0, FILES.indexOf("019_sessions.sql"))) await apply(file);
  const client = "6f1d3c2a-8a54-4f0e-9d0b-3a1f5c7e9b21";
  await raw.query("insert into clients (id, name) values ($1, 'c')", [client]);
  for (const id of ["key_by_user", "key_rotated", "key_by_operator", "key_unknown"])
    await raw.query(
      `insert into api_keys (id, client_id, name, prefix, last4, secret_hash, scopes)
      values ($1, $2, 'k', 'p', '4', decode(repeat('00', 32), 'hex'), '{}')`,
      [id, client],
    );
  const entries = [
    ["1", "user", "usr_1", "Ann", "key.created", "key_by_user", {}],
    ["2", "user", "usr_2", "Bob", "key.rotated", "key_by_user", { new_key: "key_rotated" }],
    ["3", "operator", "herald", "root", "key.created", "key_by_operator", {}],
    ["4", "user", "usr_2", "Bob", "key.revoked", "key_by_operator", {}],
  ];
  for (const entry of entries)
    await raw.query(
      `insert into audit_log (id, actor_type, actor_id, actor_name, action, target, details, client_id)
      values ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [...entry, client],
    );
  await apply("019_sessions.sql");
  const { rows } = await raw.query("select id, created_by, created_by_name from api_keys order by id");
  t.same(rows, [
    { id: "key_by_operator", created_by: null, created_by_name: null },
    { id: "key_by_user", created_by: "usr_1", created_by_name: "Ann" },
    { id: "key_rotated", created_by: "usr_2", created_by_name: "Bob" },
    { id: "key_unknown", created_by: null, created_by_name: null },
  ]);
});

t.test("migration 017 sets outcome_unknown for messages that failed with an unknown outcome", async (t) => {
  const raw = await connectRawClient(t, await cloneDatabase(t, "template0"));
  const apply = (file: string) => raw.query(readFileSync(join(FOLDER, file), "utf8"));
  const index = FILES.indexOf("017_outcome_unknown.sql");
  for (const file of FILES.slice(0, index)) await apply(file);
  const errors = {
    msg_1: '{"code":"outcome_unknown","title":"t","message":"m","details":null}',
    msg_2: '{"code":131047,"title":"\\"code\\":\\"outcome_unknown\\"","message":null,"details":null}',
  };
  for (const [id, error] of Object.entries(errors))
    await raw.query(
      `insert into messages (client_id, id, channel_id, platform, recipient, recipient_kind, type, content, status, error)
      values (gen_random_uuid(), $1, 'ch_1', 'chatapp', '1', 'phone', 'text', '{}', 'failed', $2)`,
      [id, error],
    );
  await apply("017_outcome_unknown.sql");
  const { rows } = await raw.query("select id, outcome_unknown from messages order by id");
  t.same(rows, [
    { id: "msg_1", outcome_unknown: true },
    { id: "msg_2", outcome_unknown: false },
  ]);
});
