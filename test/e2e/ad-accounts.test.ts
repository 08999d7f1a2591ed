import t from "tap";
import { freePort } from "../../src/local/server-process.ts";
import { readConfig } from "../../src/runtime/config/config.ts";
import { startApi } from "../fixtures/http/api.ts";
import { createFaultControls } from "../fixtures/platforms/platforms.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { startDispatcher } from "../fixtures/processes/dispatcher.ts";
import type { RecordedRequest } from "../fixtures/processes/local-cluster.ts";
import { startProcess } from "../fixtures/processes/processes.ts";
import { CRON_EVERY_SECOND } from "../fixtures/processes/schedulers.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
import { type DialogChoices, redirectOf, submitDialog } from "../fixtures/sandbox/dialogs.ts";
import { callSandbox, startSandbox } from "../fixtures/sandbox/sandbox.ts";
import { until } from "../fixtures/until.ts";

const [WHOLESALE, TEA] = ["1600000000000102", "1600000000000103"] as const;

interface Account {
  id: string;
  ad_account_id: string;
  status: string;
}

const statusById = (accounts: readonly Account[]) =>
  Object.fromEntries(accounts.map(({ id, status }) => [id, status]));

t.test("a person connects ad accounts, loses them and connects them again", async (t) => {
  const [PORT, SANDBOX_PORT] = [String(await freePort()), String(await freePort())];
  const settings = await testSettings(t, {
    PORT,
    SANDBOX_PORT,
    PRIVATE_DESTINATIONS: "127.0.0.0/8,::1/128",
    CRON_TOKENS: CRON_EVERY_SECOND,
  });
  const config = readConfig(settings);
  const { PUBLIC_URL, PLATFORM_APP_SECRET } = config;
  const [sandbox, api] = await Promise.all([
    startSandbox(t, { settings: { PUBLIC_URL }, port: Number(SANDBOX_PORT) }),
    startApi(t, { config }),
    startDispatcher(t, { config }),
  ]);
  const { api_key: apiKey } = (await createCommandRunner(t, settings)(["demo", "--json"])).json;
  const callApi = (method: string, path: string, json?: object) =>
    api.call(method, path, { headers: { "x-svc-api-key": apiKey }, json });
  const { arm, clearFaults } = createFaultControls(sandbox);

  /** Completes the platform's dialog, then exchanges what it has returned. */
  async function connect(choices: DialogChoices) {
    const { url, state, redirect_uri } = (await callApi("GET", "/api/marketing/oauth/url")).body;
    const request = Object.fromEntries(new URL(url).searchParams);
    const { searchParams } = await redirectOf(
      submitDialog(sandbox, { dialog: "oauth", request, ...choices }),
    );
    const code = searchParams.get("code");
    return (await callApi("POST", "/api/marketing/oauth/exchange", { code, state, redirect_uri })).body;
  }
  const chosen = { assets: [WHOLESALE, TEA] };
  const list = async (): Promise<Account[]> => (await callApi("GET", "/api/marketing/ad-accounts")).body.data;
  const notifiedAccountIds = async (type: string) =>
    ((await callSandbox(`${sandbox.origin}/_sandbox/inbox`)).body.data as RecordedRequest[]).flatMap(
      ({ body }) => (body?.type === type ? [body.data.ad_account.id as string] : []),
    );

  const [demo] = (await list()) as [Account];
  t.equal(demo.status, "active", "the demo client starts with one account");

  const refused = await connect({ ...chosen, permissions: ["ads_read"] });
  t.match(refused, { error: "missing_permission", missing: ["ads_management", "business_management"] });
  t.equal((await list()).length, 1);

  const granted: Account[] = await connect(chosen);
  t.match(granted, [
    { ad_account_id: `act_${WHOLESALE}`, status: "available" },
    { ad_account_id: `act_${TEA}`, status: "available" },
  ]);
  const [wholesale] = granted as [Account, Account];
  const patched = await callApi("PATCH", `/api/marketing/ad-accounts/${wholesale.id}`, { status: "active" });
  t.match(patched, { status: 200, body: { status: "active" } });
  const ids = [demo, ...granted].map(({ id }) => id).sort();

  const schedulers = [1, 2].map(() => startProcess(t, "scheduler", settings));
  for (const scheduler of schedulers) await scheduler.waitForLine("process.ready");
  // On a busy machine a scheduler may lose a run to the other: only the outcome "ok" shows a run that counted.
  const runs = () =>
    schedulers.flatMap(({ lines }) =>
      lines().filter(
        ({ event, job, outcome }) => event === "cron.ran" && job === "tokens" && outcome === "ok",
      ),
    );
  await until("a tick has checked both tokens", () => runs().some(({ checked }) => checked === 2));
  t.same(statusById(await list()), {
    [demo.id]: "active",
    [granted[0]?.id as string]: "active",
    [granted[1]?.id as string]: "available",
  });

  await arm({ kind: "dead_token", times: 2, match: { path_prefix: "/debug_token" } });
  await until("all are revoked", async () => (await list()).every(({ status }) => status === "revoked"));
  await until(
    "all revocations are delivered",
    async () => (await notifiedAccountIds("ad_account.revoked")).length >= 3,
  );
  const runsBefore = runs().length;
  await until("three further ticks", () => runs().length >= runsBefore + 3);
  t.same((await notifiedAccountIds("ad_account.revoked")).sort(), ids, "each is delivered once");

  await clearFaults();
  const reconnected: Account[] = await connect(chosen);
  t.same(statusById(reconnected), statusById(granted), "the same accounts are available again");
  t.same(statusById(await list()), { ...statusById(granted), [demo.id]: "revoked" });
  await until(
    "the reconnections are delivered",
    async () => (await notifiedAccountIds("ad_account.connected")).length >= 4,
  );

  const ticks = runs().map(({ scheduled_at }) => scheduled_at);
  t.equal(new Set(ticks).size, ticks.length, "each tick ran once");
  const secrets = [apiKey, PLATFORM_APP_SECRET, "EAA"];
  for (const { stdout } of schedulers) for (const secret of secrets) t.notMatch(stdout(), secret);
});
