import t from "tap";
import { readConfig } from "../../src/runtime/config/config.ts";
import { SECOND } from "../../src/runtime/durations.ts";
import { createDatabase } from "../../src/store/database/database.ts";
import type { Reply } from "../fixtures/http/replies.ts";
import { startWeb } from "../fixtures/processes/processes.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";
import { until } from "../fixtures/until.ts";

interface Told {
  what: string;
  who: { headers: Record<string, string> };
  method: string;
  path: string;
  json?: unknown;
  shows(reply: Reply): boolean;
}

t.test("what one process is told of a credential, another knows within 5 s", async (t) => {
  const settings = await testSettings(t);
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  const [here, there] = await Promise.all([startWeb(t, settings), startWeb(t, settings)]);
  const tenant = await makeTenant({ db, config });
  const owner = await tenant.person("owner");
  const [key, leaver, mover] = [
    await tenant.key("messages:send"),
    await tenant.person("member"),
    await tenant.person("member"),
  ];
  const refused = ({ status }: Reply) => status === 401;
  const told: Told[] = [
    { what: "a revoked key", who: key, method: "DELETE", path: `/api/keys/${key.id}`, shows: refused },
    {
      what: "a disabled user",
      who: leaver,
      method: "PATCH",
      path: `/api/users/${leaver.id}`,
      json: { enabled: false },
      shows: refused,
    },
    {
      what: "a changed role",
      who: mover,
      method: "PATCH",
      path: `/api/users/${mover.id}`,
      json: { role: "viewer" },
      shows: ({ body }) => body.role === "viewer",
    },
  ];
  const tests = told.map(async ({ what, who, method, path, json, shows }) => {
    const probe = () => there.call("GET", "/api/auth/me", { headers: who.headers });
    t.notOk(shows(await probe()), `${what}: not yet`);
    t.ok(
      (await here.call(method, path, { headers: owner.headers, json })).status < 300,
      `${what}: told here`,
    );
    const began = Date.now();
    await until(`${what} shows there`, async () => shows(await probe()));
    t.ok(Date.now() - began < 6 * SECOND, `${what}: seen there after ${Date.now() - began} ms`);
  });
  await Promise.all(tests);
});
