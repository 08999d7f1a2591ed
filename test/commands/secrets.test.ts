import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { readConfig } from "../../src/runtime/config/config.ts";
import { packageRoot } from "../../src/runtime/package-root.ts";
import { createSecretBox, sealedContext } from "../../src/security/secret-box.ts";
import { createDatabase } from "../../src/store/database/database.ts";
import { replaceSealedValues } from "../../src/store/database/sealed-columns.ts";
import { startApi } from "../fixtures/http/api.ts";
import { makeSender, textMessage } from "../fixtures/messages/messages.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
import { connectRawClient } from "../fixtures/servers/servers.ts";
import { makeChannel } from "../fixtures/tenants/channels.ts";

const key = (id: string) => `${id}:${randomBytes(32).toString("base64")}`;
const [OLD, NEW, LOST] = [key("old"), key("new"), key("lost")];

const boxOf = (settings: Record<string, string>, keys: string) =>
  createSecretBox(readConfig({ ...settings, ENCRYPTION_KEYS: keys }).ENCRYPTION_KEYS);

t.test("herald secrets rotate", async (t) => {
  const settings = await testSettings(t);
  const raw = await connectRawClient(t, settings.DATABASE_URL as string);
  await raw.query("create table vaults (id text primary key, token_sealed text, other text)");
  await raw.query(
    "create table chests (client_id uuid, id uuid, secret_sealed text, primary key (client_id, id)) partition by hash (id)",
  );
  await raw.query("create table chests_0 partition of chests for values with (modulus 1, remainder 0)");
  const [old, lost] = [boxOf(settings, OLD), boxOf(settings, LOST)];
  const contextOf = (table: string, column: string, id: string) => sealedContext({ table, column, id });
  const vaults = Array.from({ length: 1_203 }, (_, n) => `v${n}`);
  const chests = Array.from({ length: 40 }, () => randomUUID());
  const sealAll = (ids: string[], table: string, column: string) =>
    raw.query(
      table === "chests"
        ? `insert into chests (client_id, id, ${column}) select gen_random_uuid(), * from unnest($1::uuid[], $2::text[])`
        : `insert into ${table} (id, ${column}) select * from unnest($1::text[], $2::text[])`,
      [ids, ids.map((id) => old.seal(`secret of ${id}`, contextOf(table, column, id)))],
    );
  await sealAll(vaults, "vaults", "token_sealed");
  await sealAll(chests, "chests", "secret_sealed");
  await raw.query("insert into vaults (id, other) values ('empty', 'x')");
  const rotate = createCommandRunner(t, { ...settings, ENCRYPTION_KEYS: `${NEW},${OLD}` });

  t.test("re-encrypts the secrets of every table with the first key", async (t) => {
    const { code, json } = await rotate(["secrets", "rotate", "--json"]);
    t.equal(code, 0);
    t.same(json, { rotated: vaults.length + chests.length, left: 0 });
    const fresh = boxOf(settings, NEW);
    const { rows } = await raw.query("select id, token_sealed from vaults where token_sealed is not null");
    t.equal(rows.length, vaults.length);
    t.ok(
      rows.every(
        ({ id, token_sealed }) =>
          fresh.open(token_sealed, contextOf("vaults", "token_sealed", id)) === `secret of ${id}`,
      ),
    );
    const more = await raw.query("select id, secret_sealed from chests");
    t.ok(
      more.rows.every(
        ({ id, secret_sealed }) =>
          fresh.open(secret_sealed, contextOf("chests", "secret_sealed", id)) === `secret of ${id}`,
      ),
    );
    t.same((await raw.query("select token_sealed, other from vaults where id = 'empty'")).rows, [
      { token_sealed: null, other: "x" },
    ]);
  });

  t.test("re-encrypts nothing on the second run", async (t) => {
    const { code, out } = await rotate(["secrets", "rotate"]);
    t.equal(code, 0);
    t.match(out, /^0 secrets re-encrypted; remove the other keys of ENCRYPTION_KEYS in 10 minutes, /);
    t.match(readFileSync(join(packageRoot(), "docs/operate/key-rotation.md"), "utf8"), "Wait 10 minutes");
  });

  t.test("leaves secrets that it cannot decrypt unchanged and exits with code 1", async (t) => {
    const sealed = lost.seal("x", contextOf("vaults", "token_sealed", "v7"));
    await raw.query("update vaults set token_sealed = $1 where id = 'v7'", [sealed]);
    const { code, out } = await rotate(["secrets", "rotate"]);
    t.equal(code, 1);
    t.match(out, /0 secrets re-encrypted, 1 are left/);
    t.same((await raw.query("select token_sealed from vaults where id = 'v7'")).rows, [
      { token_sealed: sealed },
    ]);
  });

  t.test("detects a different key with the same name", async (t) => {
    const impostor = `new:${randomBytes(32).toString("base64")}`;
    const { code, out } = await createCommandRunner(t, { ...settings, ENCRYPTION_KEYS: impostor })([
      "secrets",
      "rotate",
    ]);
    t.equal(code, 1);
    t.match(out, /0 secrets re-encrypted, \d{4} are left/);
  });

  t.test("refuses to run when a column cannot be rotated", async (t) => {
    for (const columns of ["key text", "id text unique"]) {
      await raw.query(`create table drawers (${columns}, note_sealed text)`);
      const { code, err } = await rotate(["secrets", "rotate"]);
      t.equal(code, 1);
      t.match(err, /drawers\.note_sealed cannot be rotated: its table has no primary key/);
      await raw.query("drop table drawers");
    }
  });

  t.test("does not overwrite a secret that was changed during the run", async (t) => {
    const db = createDatabase(readConfig(settings), () => {});
    t.teardown(() => db.close());
    const column = { table: "vaults", column: "token_sealed", key: [{ name: "id", type: "text" }] };
    const values = [
      { key: ["v1"], sealed: "the previous value", replacement: "late" },
      { key: ["gone"], sealed: "x", replacement: "late" },
    ];
    t.equal(await replaceSealedValues(db, column, values), 0);
    t.same((await raw.query("select id from vaults where token_sealed = 'late'")).rows, []);
  });
});

t.test("a stored reply can be replayed after a key rotation", async (t) => {
  const settings = { ...(await testSettings(t)), ENCRYPTION_KEYS: OLD };
  const before = await startApi(t, { config: readConfig(settings) });
  const sender = await makeSender(before);
  const message = textMessage(await makeChannel(before, sender.tenant));
  const first = await sender.send(message, { "idempotency-key": "k" });
  t.equal(first.status, 202);
  const { code } = await createCommandRunner(t, { ...settings, ENCRYPTION_KEYS: `${NEW},${OLD}` })([
    "secrets",
    "rotate",
  ]);
  t.equal(code, 0);
  const after = await startApi(t, { config: readConfig({ ...settings, ENCRYPTION_KEYS: NEW }) });
  const headers = { ...sender.headers, "idempotency-key": "k" };
  const again = await after.call("POST", "/api/outbound/send", { headers, json: message });
  t.equal(again.headers.get("idempotent-replay"), "true");
  t.equal(again.text, first.text);
});
