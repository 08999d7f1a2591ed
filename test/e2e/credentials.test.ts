import t from "tap";
import { readConfig } from "../../src/runtime/config.ts";
import { SECOND } from "../../src/runtime/durations.ts";
import { createDatabase } from "../../src/store/database.ts";
import { startWeb } from "../fixtures/processes.ts";
import { testSettings } from "../fixtures/settings.ts";
import { makeTenant } from "../fixtures/tenants.ts";
import { until } from "../fixtures/until.ts";

t.test("what one process is told of a credential, another knows within 5 s", async (t) => {
  const settings = await testSettings(t);
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  const [here, there] = await Promise.all([startWeb(t, settings), startWeb(t, settings)]);
  const tenant = await makeTenant({ db, config });
  const owner = await tenant.person("owner");
  const tell = (method: string, path: string, json?: unknown) =>
    here.call(method, path, { headers: owner.headers, json });
  const me = (headers: Record<string, string>) => there.call("GET", "/api/auth/me", { headers });

  /** Keeps asking there, so that the credential is never cold, until the change shows; answers how long it took. */
  const shownAfter = async (what: string, probe: () => Promise<boolean>) => {
    const told = Date.now();
    await until(what, probe);
    return Date.now() - told;
  };

  t.test("a key that was revoked", async (t) => {
    const key = await tenant.key("messages:send");
    t.equal((await me(key.headers)).status, 200);
    t.equal((await tell("DELETE", `/api/keys/${key.id}`)).status, 204);
    const took = await shownAfter("the key is refused", async () => (await me(key.headers)).status === 401);
    t.ok(took < 6 * SECOND, `${took} ms`);
  });

  t.test("a user who was disabled", async (t) => {
    const person = await tenant.person("member");
    t.equal((await me(person.headers)).status, 200);
    t.equal((await tell("PATCH", `/api/users/${person.id}`, { enabled: false })).status, 200);
    const took = await shownAfter(
      "the token is refused",
      async () => (await me(person.headers)).status === 401,
    );
    t.ok(took < 6 * SECOND, `${took} ms`);
  });

  t.test("a role that was changed", async (t) => {
    const person = await tenant.person("member");
    t.equal((await me(person.headers)).body.role, "member");
    t.equal((await tell("PATCH", `/api/users/${person.id}`, { role: "viewer" })).status, 200);
    const took = await shownAfter(
      "the role is seen",
      async () => (await me(person.headers)).body.role === "viewer",
    );
    t.ok(took < 6 * SECOND, `${took} ms`);
  });
});
