import { randomBytes } from "node:crypto";
import t from "tap";
import { createClientWithOwner } from "../../../src/domain/tenants/users.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { findUserByEmail } from "../../../src/store/tenants/users.ts";
import { testConfig } from "../../fixtures/processes/settings.ts";
import { makeActor } from "../../fixtures/tenants/actors.ts";
import { createFastPasswords } from "../../fixtures/tenants/passwords.ts";

t.test("a client and its first owner are created together or not at all", async (t) => {
  const db = createDatabase(await testConfig(t), () => {});
  t.teardown(() => db.close());
  const email = `${randomBytes(6).toString("hex")}@example.com`;
  const create = (name: string) =>
    createClientWithOwner(
      { db, passwords: createFastPasswords() },
      {
        name,
        owner: { email, name: "Ann", password: "a password" },
        actorOf: (clientId) => makeActor(clientId),
      },
    );
  const both = await Promise.all([create("twin"), create("twin")]);
  const [client, ...others] = both.flatMap((created) =>
    created.outcome === "created" ? [created.client] : [],
  );
  t.same(others, []);
  t.ok(both.some(({ outcome }) => outcome === "email_taken"));
  t.match(await findUserByEmail(db, email), { client_id: client?.id, role: "owner", name: "Ann" });
  t.same(await db.query("select id from clients where name = 'twin'"), [{ id: client?.id }]);
  t.match(await db.query("select * from audit_log where client_id = $1", [client?.id]), [
    { action: "user.created", actor_type: "operator", address: null, request_id: null },
  ]);
});
