import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Test } from "tap";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import { createCommandRunner } from "../../fixtures/processes/command-line.ts";
import { makeTempFolder } from "../../fixtures/servers/folders.ts";
import { makeTenant, PASSWORD } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";
import type { RunningWeb } from "./deployment.ts";
import type { Population } from "./load.ts";

type Headers = Record<string, string>;

/** Checks that changes made through one web process apply to all of them as docs/guides/credentials.md promises. */
export async function checkVisibleChanges(
  t: Test,
  { db, settings }: Population,
  webs: readonly RunningWeb[],
): Promise<void> {
  const tenant = await makeTenant({ db, config: readConfig(settings) });
  const owner = await tenant.createUser("owner");
  await Promise.all([
    checkRevokedKey(t, webs, { owner, key: await tenant.createKey("marketing:read") }),
    checkEndedSession(t, webs, owner),
    checkNewTerms(t, webs, { settings, owner }),
  ]);
}

interface Parts {
  owner: { headers: Headers };
  key: { id: string; headers: Headers };
}

async function checkRevokedKey(t: Test, webs: readonly RunningWeb[], { owner, key }: Parts): Promise<void> {
  const { headers } = owner;
  const revoke = (web: RunningWeb) => web.call("DELETE", `/api/keys/${key.id}`, { headers });
  await checkRefusal(t, webs, { name: "a revoked key", headers: key.headers, end: revoke });
}

async function checkEndedSession(
  t: Test,
  webs: readonly RunningWeb[],
  { email }: { email: string },
): Promise<void> {
  const json = { email, password: PASSWORD };
  const login = await (webs[0] as RunningWeb).call("POST", "/api/auth/login", { json });
  const headers = { authorization: `Bearer ${login.body.token}` };
  const logOut = (web: RunningWeb) => web.call("POST", "/api/auth/logout", { headers });
  await checkRefusal(t, webs, { name: "an ended session", headers, end: logOut });
}

interface EndedCredential {
  name: string;
  headers: Headers;
  /** Ends the credential through this web process. */
  end(web: RunningWeb): Promise<{ status: number }>;
}

const MAX_VALID_MS = 5 * SECOND;

/** The process that ends a credential refuses it at once, every other within 5 seconds. */
async function checkRefusal(
  t: Test,
  webs: readonly RunningWeb[],
  { name, headers, end }: EndedCredential,
): Promise<void> {
  const statusAt = async (web: RunningWeb) => (await web.call("GET", "/api/auth/me", { headers })).status;
  t.same(
    await Promise.all(webs.map(statusAt)),
    webs.map(() => 200),
    `${name}: every process knows it`,
  );
  const [ending, ...others] = webs as [RunningWeb, ...RunningWeb[]];
  t.ok((await end(ending)).status < 300, `${name}: ended`);
  const endedAt = Date.now();
  t.equal(await statusAt(ending), 401, `${name}: refused at once where it was ended`);
  const times = await Promise.all(
    others.map(async (web) => {
      let acceptedAt = endedAt;
      await until(`${name} is refused by every process`, async () => {
        const startedAt = Date.now();
        const isRefused = (await statusAt(web)) === 401;
        if (!isRefused) acceptedAt = startedAt;
        return isRefused;
      });
      return acceptedAt - endedAt;
    }),
  );
  t.ok(Math.max(...times) <= MAX_VALID_MS, `${name}: accepted elsewhere for ${times.join(" and ")} ms`);
}

interface TermsParts {
  settings: Record<string, string>;
  owner: { headers: Headers };
}

const NEW_VERSION = "2099-01-01";

/** Every process requires a new version at once, and accepts changes at once when one of them has accepted it. */
async function checkNewTerms(
  t: Test,
  webs: readonly RunningWeb[],
  { settings, owner: { headers } }: TermsParts,
): Promise<void> {
  const [first, second] = webs as [RunningWeb, RunningWeb];
  const accept = async (web: RunningWeb) => {
    const { version } = (await web.call("GET", "/api/marketing/terms", { headers })).body;
    await web.call("POST", "/api/marketing/terms/accept", { headers, json: { version } });
  };
  /** The request is incomplete: the gate is checked before the fields. */
  const errorsOfGate = () =>
    Promise.all(
      webs.map(async (web) => {
        const { body } = await web.call("POST", "/api/marketing/campaigns", { headers, json: {} });
        return [body.error, body.current_version];
      }),
    );
  const open = webs.map(() => ["validation_failed", undefined]);
  await accept(first);
  t.same(await errorsOfGate(), open, "every process knows the acceptance");
  const file = join(makeTempFolder(t), "terms.txt");
  writeFileSync(file, "The text");
  const { code } = await createCommandRunner(
    t,
    settings,
  )(`terms publish --version ${NEW_VERSION} --file ${file}`);
  t.equal(code, 0);
  t.same(
    await errorsOfGate(),
    webs.map(() => ["terms_not_accepted", NEW_VERSION]),
    "every process requires the new terms at once",
  );
  await accept(second);
  t.same(await errorsOfGate(), open, "every process knows the new acceptance");
}
