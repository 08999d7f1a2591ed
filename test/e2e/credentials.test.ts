import t from "tap";
import { readConfig } from "../../src/runtime/config/config.ts";
import { SECOND } from "../../src/runtime/durations.ts";
import { startApi } from "../fixtures/http/api.ts";
import type { Reply } from "../fixtures/http/replies.ts";
import { startWeb } from "../fixtures/processes/processes.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";
import { until } from "../fixtures/until.ts";

/** Ten times what the 5 s of the cache and a request take. test/http/credentials.test.ts tests the 5 s. */
const MAX_WAIT_MS = 60 * SECOND;

interface CredentialChange {
  what: string;
  who: { headers: Record<string, string> };
  method: string;
  path: string;
  json?: unknown;
  isApplied(reply: Reply): boolean;
}

t.test("a change of a credential in one process applies in another", async (t) => {
  const settings = await testSettings(t);
  const [changing, observing] = await Promise.all([
    startApi(t, { config: readConfig(settings) }),
    startWeb(t, settings),
  ]);
  const tenant = await makeTenant(changing);
  const owner = await tenant.createUser("owner");
  const [key, disabledUser, changedUser] = [
    await tenant.createKey("messages:send"),
    await tenant.createUser("member"),
    await tenant.createUser("member"),
  ];
  const isRefused = ({ status }: Reply) => status === 401;
  const changes: CredentialChange[] = [
    { what: "a revoked key", who: key, method: "DELETE", path: `/api/keys/${key.id}`, isApplied: isRefused },
    {
      what: "a disabled user",
      who: disabledUser,
      method: "PATCH",
      path: `/api/users/${disabledUser.id}`,
      json: { enabled: false },
      isApplied: isRefused,
    },
    {
      what: "a changed role",
      who: changedUser,
      method: "PATCH",
      path: `/api/users/${changedUser.id}`,
      json: { role: "viewer" },
      isApplied: ({ body }) => body.role === "viewer",
    },
  ];
  const checks = changes.map(async ({ what, who, method, path, json, isApplied }) => {
    const probe = () => observing.call("GET", "/api/auth/me", { headers: who.headers });
    t.notOk(isApplied(await probe()), `${what}: not yet`);
    t.ok(
      (await changing.call(method, path, { headers: owner.headers, json })).status < 300,
      `${what}: changed here`,
    );
    const startedAt = Date.now();
    await until(`${what} applies there`, async () => isApplied(await probe()));
    t.ok(Date.now() - startedAt < MAX_WAIT_MS, `${what}: applied there after ${Date.now() - startedAt} ms`);
  });
  await Promise.all(checks);
});
