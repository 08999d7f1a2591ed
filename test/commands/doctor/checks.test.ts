import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { examineApiKeys, examineQueueRows } from "../../../src/commands/doctor/checks.ts";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { packageRoot } from "../../../src/runtime/package-root.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { codeBlocks } from "../../fixtures/docs/code-blocks.ts";
import { configureWebhook, makeEvents, updateDelivery } from "../../fixtures/events/events.ts";
import { openQueueContext } from "../../fixtures/events/queue-rows.ts";
import { createCommandRunner } from "../../fixtures/processes/command-line.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";

/** The statements in the documentation that repair the rows. */
const [repair] = codeBlocks(readFileSync(join(packageRoot(), "docs/operate/backlog.md"), "utf8")).filter(
  ({ language }) => language === "sql",
);

t.test("herald doctor compares the rows of the queue with the deliveries", async (t) => {
  const settings = await testSettings(t);
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  const raw = await connectRawClient(t, settings.DATABASE_URL as string);
  // Without a dispatcher, doctor fails.
  await raw.query(
    "insert into workers (id, process, heartbeat_at) values ('wrk_1', 'dispatcher', now() + interval '1 hour')",
  );
  const herald = createCommandRunner(t, settings);
  const examine = async () => {
    const { code, json } = await herald("doctor --json");
    const findings: { check: string; status: string; message: string }[] = json.findings;
    return { code, ...findings.find(({ check }) => check === "queue_rows") };
  };
  const tenant = await makeTenant({ db, config });
  await configureWebhook({ db }, tenant);
  const [waiting = "", retrying = "", done = "", other = ""] = await makeEvents(
    { db },
    tenant,
    {},
    {},
    {},
    {},
  );
  await updateDelivery({ db }, retrying, { state: "retrying", attempts: 3 });
  await updateDelivery({ db }, done, { state: "delivered", attempts: 1 });
  const AGREEMENT = { code: 0, status: "ok", message: "agree with the deliveries" };
  const repairRows = () => raw.query(repair?.code ?? "");
  const remove = (id: string) => raw.query("delete from delivery_queue where id = $1", [id]);

  t.test("rows that agree are no problem", async (t) => {
    t.match(await examine(), AGREEMENT);
    await repairRows();
    t.match(await examine(), AGREEMENT, "the repair changes nothing");
  });

  t.test("a missing row is found", async (t) => {
    await remove(waiting);
    await remove(retrying);
    const fix = /docs\/operate\/backlog\.md/;
    t.match(await examine(), { code: 1, status: "failed", fix });
    t.equal(
      (await examine()).message,
      `deliveries without a row in delivery_queue, which are never made: 2, such as ${waiting}`,
    );
    await repairRows();
    t.match(await examine(), AGREEMENT);
  });

  t.test("a row without a delivery that waits is found", async (t) => {
    const insert = "insert into delivery_queue (id, client_id, attempts) values ($1, $2, 1)";
    await raw.query(insert, [done, tenant.id]);
    await raw.query(insert, ["evt_zzz", randomUUID()]);
    const { code, message } = await examine();
    t.equal(code, 1);
    t.equal(
      message,
      `rows of delivery_queue without a delivery that is pending or retrying: 2, such as ${done}`,
    );
    await repairRows();
    t.match(await examine(), AGREEMENT);
  });

  t.test("a row of another client and one with other attempts are found", async (t) => {
    await raw.query("update delivery_queue set client_id = $2 where id = $1", [waiting, randomUUID()]);
    await raw.query("update delivery_queue set attempts = 2 where id = $1", [retrying]);
    await remove(other);
    t.equal(
      (await examine()).message,
      [
        `rows of delivery_queue with another client or number of attempts than their delivery: 2, such as ${waiting}`,
        `deliveries without a row in delivery_queue, which are never made: 1, such as ${other}`,
      ].join("; "),
    );
    t.match(await examineQueueRows(db, { limit: 2 }), { message: /^only 2 were counted; / });
    await repairRows();
    t.match(await examine(), AGREEMENT);
  });

  t.test("a comparison that takes too long is a warning", async (t) => {
    await raw.query("begin");
    await raw.query("lock table delivery_queue");
    t.match(await examineQueueRows(db, { timeoutMs: 1 }), { status: "warning", message: /takes longer/ });
    await raw.query("rollback");
  });

  t.test("rows of a deleted client do not count", async (t) => {
    await remove(waiting);
    await raw.query("update delivery_queue set attempts = 9 where id = $1", [retrying]);
    await raw.query("update clients set deleted_at = now() where id = $1", [tenant.id]);
    t.match(await examine(), AGREEMENT);
  });
});

t.test("doctor warns of active API keys whose creator is disabled", async (t) => {
  const context = await openQueueContext(t);
  const { db } = context;
  const tenant = await makeTenant(context);
  const [creator, other] = [await tenant.createUser("admin"), await tenant.createUser("admin")];
  const keyOf = async (userId: string, change = "name = name") => {
    const { id } = await tenant.createKey("messages:send");
    await db.query(`update api_keys set created_by = $2, ${change} where id = $1`, [id, userId]);
    return id;
  };
  const key = await keyOf(creator.id);
  await keyOf(creator.id, "revoked_at = now()");
  await keyOf(creator.id, "expires_at = now() - interval '1 second'");
  await keyOf(other.id);
  await tenant.createKey("messages:send");
  t.match(await examineApiKeys(db), { status: "ok" });
  await db.query("update users set enabled = false where id = $1", [creator.id]);
  const finding = await examineApiKeys(db);
  t.match(finding, { check: "api_keys", status: "warning", fix: /herald key revoke/ });
  t.match(finding.message, `1 in use was created by users who are disabled now: ${key} (admin.`);
  t.notMatch(finding.message, ", key_", "no other key is named");
});
