import t from "tap";
import { examineApiKeys } from "../../../src/commands/doctor/tenants.ts";
import { openQueueContext } from "../../fixtures/events/queue-rows.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";

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
