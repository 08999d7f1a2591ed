import { randomUUID } from "node:crypto";
import t from "tap";
import { recordEvents } from "../../src/domain/events/record-events.ts";
import { deleteClient, eraseDeletedClients } from "../../src/domain/tenants/delete-client.ts";
import { readConfig } from "../../src/runtime/config/config.ts";
import { newId, uuidOf } from "../../src/runtime/ids.ts";
import { createSecretBox, sealedContext } from "../../src/security/secret-box.ts";
import { markClientDeleted } from "../../src/store/tenants/client-erasure.ts";
import { findTermsInForce } from "../../src/store/tenants/terms.ts";
import { maintain } from "../../workers/scheduler/maintenance.ts";
import { captureLog } from "../fixtures/captured-log.ts";
import { startApi } from "../fixtures/http/api.ts";
import { insertBatch } from "../fixtures/messages/batch-rows.ts";
import { sendMessage } from "../fixtures/messages/messages.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
import { untilBlocked } from "../fixtures/servers/lock-waits.ts";
import { connectRawClient } from "../fixtures/servers/servers.ts";
import { makeChannel, newPlatformId } from "../fixtures/tenants/channels.ts";
import { makeTenant, type Tenant } from "../fixtures/tenants/tenants.ts";
import { until } from "../fixtures/until.ts";

/** Inserts a row into the table that is erased last. */
const INSERT_LAST_ERASED = "insert into event_stats values ($1, now(), 'chatapp', 1, 1, 0, 0, 0)";

t.test("herald client delete", async (t) => {
  const settings = await testSettings(t);
  const api = await startApi(t, { config: readConfig(settings) });
  const raw = await connectRawClient(t, api.config.DATABASE_URL);
  const herald = createCommandRunner(t, settings);
  const box = createSecretBox(api.config.ENCRYPTION_KEYS);
  const erase = ({ id }: Tenant) => herald(["client", "delete", "--id", id, "--yes"]);

  const event = ({ id: clientId }: Tenant, dedupKey: string) =>
    ({ clientId, type: "platform.event", key: "chatapp", data: { field: "x", value: 1 }, dedupKey }) as const;

  /** Begins the deletion of a client and waits until its rows have been erased once. */
  async function beginErasure(tenant: Tenant) {
    await raw.query(INSERT_LAST_ERASED, [tenant.id]);
    const erasing = erase(tenant);
    await until("the last table is erased", async () => {
      const { rowCount } = await raw.query("select from event_stats where client_id = $1", [tenant.id]);
      return rowCount === 0;
    });
    return { erasing };
  }

  const writeAttempt = (by: typeof raw, { id: clientId }: Tenant, eventId: string) =>
    by.query("insert into attempts (client_id, id, attempt, at, duration_ms) values ($1, $2, 1, now(), 5)", [
      clientId,
      eventId,
    ]);

  /** Creates a row in every table of a client; some are inserted directly because no API creates them yet. */
  async function fillAllTables(tenant: Tenant): Promise<void> {
    const [{ id: clientId }, { headers }] = [tenant, await tenant.createKey("webhooks:manage")];
    const owner = await tenant.createUser("owner");
    const { version } = await findTermsInForce(api.db);
    await api.call("POST", "/api/marketing/terms/accept", { headers: owner.headers, json: { version } });
    await sendMessage(api, tenant, {}, { "idempotency-key": "k" });
    await insertBatch(api, tenant, { channel_id: newId("ch") });
    const ended = await makeChannel(api, tenant, { platform: "socialapp" });
    await api.call("DELETE", `/api/channels/${ended}`, { headers });
    const [id] = await recordEvents(api.db, [event(tenant, "e")]);
    await writeAttempt(raw, tenant, id as string);
    await raw.query("insert into webhook_configs (client_id, webhook_url) values ($1, 'https://a.example')", [
      clientId,
    ]);
    await raw.query(
      "insert into templates (client_id, waba_id, hsm_id, name, language) values ($1, '1', '1', 'n', 'en')",
      [clientId],
    );
    await raw.query(
      `insert into sessions (id, client_id, user_id, created_at, last_used_at, expires_at)
      values ($1, $2, $3, now(), now(), now())`,
      [newId("ses"), clientId, owner.id],
    );
    const connection = newId("con");
    const sealContext = sealedContext({ table: "ad_connections", column: "token_sealed", id: connection });
    await raw.query(
      "insert into ad_connections (id, client_id, platform_user_id, token_sealed) values ($1, $2, '1', $3)",
      [connection, clientId, box.seal("t", sealContext)],
    );
    await raw.query(
      `insert into ad_accounts (id, client_id, connection_id, ad_account_id, name, currency, timezone_name, account_status)
      values ($1, $2, $3, 'act_1', 'n', 'BRL', 'UTC', 1)`,
      [randomUUID(), clientId, connection],
    );
    await raw.query(
      `insert into claimed_operations (id, client_id, fingerprint, state, claim_id, leased_until)
      values ($1, $2, $1, 'ambiguous', $1, now())`,
      [randomUUID(), clientId],
    );
    const json = { allowed_origins: ["https://app.example.com"] };
    await api.call("POST", "/api/embed/sessions", { headers, json });
    await raw.query("insert into number_pins (id, client_id, pin_sealed) values ($1, $2, $3)", [
      newPlatformId(),
      clientId,
      box.seal("123456", "of another context"),
    ]);
    await raw.query("insert into ad_videos (client_id, ad_account_id, video_id) values ($1, 'act_1', '1')", [
      clientId,
    ]);
    await raw.query(
      `insert into insights_reports (client_id, id, ad_account_id, fields, breakdowns, run)
      values ($1, gen_random_uuid(), 'act_1', '{}', '{}', '{}')`,
      [clientId],
    );
    await raw.query("insert into message_stats values ($1, now(), 'ch_1', 1, 1, 0, 0, 0)", [clientId]);
    await raw.query(INSERT_LAST_ERASED, [clientId]);
    await raw.query("insert into delivery_queue (id, client_id) values ($1, $2)", [newId("evt"), clientId]);
    await raw.query("insert into late_changes (client_id, id) values ($1, $2)", [clientId, newId("msg")]);
  }

  /** Every table except partitions, and whether its rows belong to clients. */
  const { rows: tables } = await raw.query<{ name: string; is_tenants: boolean }>(
    `select
      t.table_name as name,
      t.table_name = 'clients' or exists (
        select
        from information_schema.columns c
        where c.table_schema = t.table_schema
        and c.table_name = t.table_name
        and c.column_name = 'client_id'
      ) as is_tenants
    from information_schema.tables t
    join pg_class p on p.oid = format('%I.%I', t.table_schema, t.table_name)::regclass and not p.relispartition
    where t.table_schema = current_schema()
    and t.table_type = 'BASE TABLE'
    order by 1`,
  );

  /** Counts the rows of each table that contain the client's id in any column. */
  async function countRows({ id }: Tenant): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { name } of tables) {
      const { rows } = await raw.query(`select count(*) from ${name} t where t::text like $1`, [`%${id}%`]);
      if (rows[0].count !== "0") counts[name] = Number(rows[0].count);
    }
    return counts;
  }

  t.test("deletes the client's rows from every table and nothing of other clients", async (t) => {
    const [gone, kept] = [await makeTenant(api), await makeTenant(api)];
    for (const tenant of [gone, kept]) await fillAllTables(tenant);
    const before = await countRows(kept);
    t.same(
      Object.keys(before),
      tables.filter(({ is_tenants }) => is_tenants).map(({ name }) => name),
      "the test creates a row in every table of a client",
    );
    t.same(await countRows(gone), before);
    t.equal((await erase(gone)).code, 0);
    t.same(await countRows(gone), {});
    t.same(await countRows(kept), before);
  });

  t.test("erases an event that was recorded before the deletion and is committed after it", async (t) => {
    const tenant = await makeTenant(api);
    const { erasing } = await api.db.transaction(async (tx) => {
      t.match(await recordEvents(tx, [event(tenant, "first")]), [String]);
      const begun = await beginErasure(tenant);
      t.same(await recordEvents(api.db, [event(tenant, "late")]), [undefined], "no later event is recorded");
      return begun;
    });
    t.match(await erasing, { code: 0 });
    t.same(await countRows(tenant), {});
  });

  t.test(
    "erases a message whose statement began before the deletion and is committed after it",
    async (t) => {
      const tenant = await makeTenant(api);
      const holder = await connectRawClient(t, api.config.DATABASE_URL);
      await holder.query("begin");
      // The statement that accepts the message waits for this transaction.
      const key = uuidOf(JSON.stringify([tenant.id, "post", "/api/outbound/send", "k"]));
      await holder.query(
        "insert into idempotency_keys (id, client_id, fingerprint, reply_sealed) values ($1, $2, $1, 'x')",
        [key, tenant.id],
      );
      const sending: Promise<unknown> = sendMessage(api, tenant, {}, { "idempotency-key": "k" });
      await untilBlocked(raw, 1);
      const { erasing } = await beginErasure(tenant);
      await holder.query("rollback");
      await sending.catch(() => {}); // a slow machine accepts the message after the request has timed out
      t.match(await erasing, { code: 0 });
      t.same(await countRows(tenant), {});
    },
  );

  t.test("erases an attempt that is inserted concurrently", async (t) => {
    const tenant = await makeTenant(api);
    const [id] = (await recordEvents(api.db, [event(tenant, "e")])) as [string];
    const writer = await connectRawClient(t, api.config.DATABASE_URL);
    await writer.query("begin");
    await writer.query("update deliveries set attempts = 1 where client_id = $1 and id = $2", [
      tenant.id,
      id,
    ]);
    const erasing = erase(tenant);
    await untilBlocked(raw, 1);
    await writeAttempt(writer, tenant, id);
    await writer.query("commit");
    t.equal((await erasing).code, 0);
    t.same(await countRows(tenant), {});
  });

  t.test("erases tables of several batches", async (t) => {
    const [gone, kept] = [await makeTenant(api), await makeTenant(api)];
    for (const { id } of [gone, kept])
      for (const statement of [
        `insert into messages (client_id, id, channel_id, platform, recipient, recipient_kind, type, content)
        select $1, 'msg_' || n, 'ch_1', 'chatapp', '1', 'phone', 'text', '{}' from generate_series(1, 11000) n`,
        "insert into event_fingerprints (client_id, fingerprint) select $1, gen_random_uuid() from generate_series(1, 11000)",
        // More than a batch of pages.
        `insert into idempotency_keys (id, client_id, fingerprint, reply_sealed)
        select gen_random_uuid(), $1, $1, repeat(md5(n::text), 50) from generate_series(1, 6000) n`,
      ])
        await raw.query(statement, [id]);
    const before = await countRows(kept);
    t.equal((await erase(gone)).code, 0);
    t.same(await countRows(gone), {});
    t.same(await countRows(kept), before);
  });

  t.test("an interrupted deletion is continued by a second call or by the maintenance job", async (t) => {
    const { log } = captureLog();
    const maintainOnce = () =>
      maintain(api.config, { db: api.db, log }, { signal: new AbortController().signal });
    for (const finish of [erase, maintainOnce]) {
      const tenant = await makeTenant(api);
      await fillAllTables(tenant);
      await markClientDeleted(api.db, tenant.id);
      t.notMatch((await herald(["client", "list"])).out, tenant.id);
      t.match((await herald(["key", "list", "--client", tenant.id])).err, "there is no client");
      await finish(tenant);
      t.same(await countRows(tenant), {});
    }
  });

  t.test("an erasure ends when another process has deleted the client's row", async (t) => {
    const tenant = await makeTenant(api);
    await fillAllTables(tenant);
    const both = [deleteClient(api.db, tenant.id), deleteClient(api.db, tenant.id)];
    t.same(await Promise.all(both), [true, true]);
    t.equal(await deleteClient(api.db, tenant.id, { maxWaitMs: 0 }), true, "it is gone");
    t.same(await countRows(tenant), {});
  });

  t.test(
    "an older transaction that does not end leaves the client's row to the maintenance job",
    async (t) => {
      const tenant = await makeTenant(api);
      const writer = await connectRawClient(t, api.config.DATABASE_URL);
      const reader = await connectRawClient(t, api.config.DATABASE_URL);
      for (const client of [reader, writer]) await client.query("begin isolation level repeatable read");
      await reader.query("select from events limit 1");
      await writer.query("delete from late_changes where false");
      await fillAllTables(tenant);
      t.equal(await deleteClient(api.db, tenant.id, { maxWaitMs: 0 }), false);
      t.same(await countRows(tenant), { clients: 1 });
      await writer.query("rollback");
      t.equal(
        await eraseDeletedClients(api.db, { maxWaitMs: 0 }),
        1,
        "a transaction that only reads does not matter",
      );
      t.same(await countRows(tenant), {});
    },
  );
});
