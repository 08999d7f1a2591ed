import type { Test } from "tap";
import t from "tap";
import { createPauses } from "../../../src/queue/platform-pauses.ts";
import { dueWarning, NO_FINDINGS } from "../../../workers/scheduler/check-connection.ts";
import { createTokenCheck } from "../../fixtures/platforms/token-check.ts";
import { readClientEvents } from "../../fixtures/platforms/webhooks.ts";
import { issueAdToken } from "../../fixtures/sandbox/ad-platform.ts";
import { callSandbox, startSandbox } from "../../fixtures/sandbox/sandbox.ts";
import { connectRedis } from "../../fixtures/servers/redis.ts";
import { grantAdAccount } from "../../fixtures/tenants/ad-accounts.ts";
import {
  AD_ACCOUNT_IDS,
  type AdsContext,
  type Advertiser,
  COFFEE_ACCOUNT_ID,
  startAdsContext,
  WHOLESALE_ACCOUNT_ID,
} from "../../fixtures/tenants/ad-grants.ts";

const DAY = 86_400_000;

/** The tests share it, because starting it takes longer than most of them. */
const shared = await startAdsContext(t);

/** A sandbox, an API without connections, and the scheduler's token check, one tick per call. */
async function startChecks(t: Test, now = Date.now, context = shared) {
  await context.clearFaults();
  await context.api.db.query("delete from ad_accounts");
  await context.api.db.query("delete from ad_connections");
  const SANDBOX_PORT = new URL(context.sandbox.origin).port;
  const tokenCheck = await createTokenCheck(t, context.api, { SANDBOX_PORT }, now);
  /** Counts the platform's requests whose path contains this text. */
  async function calls(path: string): Promise<number> {
    const { body } = await callSandbox(`${context.sandbox.origin}/_sandbox/requests`);
    return (body.data as { path: string }[]).filter((call) => call.path.includes(path)).length;
  }
  return { ...context, ...tokenCheck, calls };
}

const NO_COUNTS = { checked: 0, failed: 0, ...NO_FINDINGS, quarantined: 0, left: 0 };

const statusesOf = async (advertiser: Advertiser) => {
  const { body } = await advertiser.call("GET", "/ad-accounts");
  return (body.data as { status: string }[]).map(({ status }) => status);
};

const typesOf = async ({ api }: AdsContext, { id }: Advertiser) =>
  (await readClientEvents(api, id)).map(({ type }) => type).filter((type) => type !== "ad_account.connected");

t.test("a check without connections finds nothing", async (t) => {
  const { check } = await startChecks(t);
  t.same(await check(), NO_COUNTS);
});

t.test("a dead token is found, and only its own accounts are revoked", async (t) => {
  const context = await startChecks(t);
  const [one, other] = [await context.makeAdvertiser(), await context.makeAdvertiser()];
  for (const advertiser of [one, other])
    await advertiser.connectAdAccounts(COFFEE_ACCOUNT_ID, WHOLESALE_ACCOUNT_ID);
  t.same(await context.check(), { ...NO_COUNTS, checked: 2 });
  t.same(await typesOf(context, one), []);
  await context.arm({ kind: "dead_token", times: 1, match: { path_prefix: "/debug_token" } });
  t.same(await context.check(), { ...NO_COUNTS, checked: 2, revoked: 2 });
  // Both are checked at the same time, so that the fault may kill either token.
  const isOneDead = (await statusesOf(one)).includes("revoked");
  const [dead, alive] = isOneDead ? [one, other] : [other, one];
  t.same(await statusesOf(dead), ["revoked", "revoked"]);
  t.same(await statusesOf(alive), ["available", "available"]);
  t.same(await typesOf(context, dead), ["ad_account.revoked", "ad_account.revoked"]);
  t.same(await typesOf(context, alive), []);
  t.same(await context.check(), { ...NO_COUNTS, checked: 1 }, "a dead token is not checked again");
  t.same((await typesOf(context, dead)).length, 2);
});

t.test(
  "each check is tracked by the id of its connection, and resumed when the platform has answered",
  async (t) => {
    const context = await startChecks(t);
    const advertiser = await context.makeAdvertiser();
    await advertiser.connectAdAccounts(COFFEE_ACCOUNT_ID);
    const [row] = await context.api.db.query<{ id: string }>("select id from ad_connections");
    const label = `connection ${row?.id}`;
    await context.check();
    t.same(context.trackerCalls, [`begin ${label}`, `resume ${label}`, `end ${label}`]);
    await context.arm({ kind: "error", times: 1, match: { path_prefix: "/debug_token" } });
    await context.check().catch(() => {});
    t.equal(context.trackerCalls.at(-1), `end ${label}`, "also when it fails");
  },
);

t.test("a token that dies after its inspection is revoked", async (t) => {
  const context = await startChecks(t);
  const advertiser = await context.makeAdvertiser();
  await advertiser.connectAdAccounts(COFFEE_ACCOUNT_ID);
  await context.arm({ kind: "dead_token", match: { path_prefix: "/me/adaccounts" } });
  t.same(await context.check(), { ...NO_COUNTS, checked: 1, revoked: 1 });
});

t.test("a token whose owner can restore it is suspended, not revoked", async (t) => {
  const context = await startChecks(t);
  const advertiser = await context.makeAdvertiser();
  await advertiser.connectAdAccounts(COFFEE_ACCOUNT_ID);
  await context.arm({ kind: "dead_token", subcode: 459, times: 1, match: { path_prefix: "/debug_token" } });
  t.same(await context.check(), { ...NO_COUNTS, checked: 1, suspended: 1 });
  t.same(await statusesOf(advertiser), ["available"]);
  t.match(
    context.lines.find(({ event }) => event === "ad_connection.suspended"),
    { client: advertiser.id, reason: /checkpoint/ },
  );
  await context.clearFaults();
  t.same(await context.check(), { ...NO_COUNTS, checked: 1 });
});

t.test("an error of the app's own token revokes nothing and fails the run", async (t) => {
  const context = await startChecks(t);
  const advertiser = await context.makeAdvertiser();
  await advertiser.connectAdAccounts(COFFEE_ACCOUNT_ID);
  await context.arm({ kind: "error", code: 190, match: { path_prefix: "/debug_token" } });
  await t.rejects(context.check(), { name: "JobError", counts: { checked: 0, failed: 1, revoked: 0 } });
  t.same(await statusesOf(advertiser), ["available"]);
});

t.test("changes at the platform are reported for accounts in any state", async (t) => {
  const context = await startChecks(t);
  const advertiser = await context.makeAdvertiser();
  const [coffee] = await advertiser.connectAdAccounts(COFFEE_ACCOUNT_ID, WHOLESALE_ACCOUNT_ID);
  await context.api.db.query(
    "update ad_accounts set account_status = 2, last_synced_at = '2026-01-01' where id = $1",
    [coffee.id],
  );
  t.same(await context.check(), { ...NO_COUNTS, checked: 1, updated: 1 });
  t.match((await readClientEvents(context.api, advertiser.id)).at(-1), {
    type: "ad_account.updated",
    ad_account_id: `act_${COFFEE_ACCOUNT_ID}`,
    payload: { data: { ad_account: { account_status: 1, account_status_label: "active" } } },
  });
  const { body } = await advertiser.call("GET", `/ad-accounts/${coffee.id}`);
  t.ok(Date.parse(body.last_synced_at) > Date.now() - 60_000);
  t.same(await context.check(), { ...NO_COUNTS, checked: 1 });
});

t.test("a client is warned once 14, 7 and 1 days before a token expires", async (t) => {
  let now = Date.now();
  const clock = () => now; // of the check and of the platform
  const sandbox = await startSandbox(t, { now: clock });
  const context = await startChecks(t, clock, { ...shared, sandbox });
  const advertiser = await context.makeAdvertiser();
  await advertiser.connectAdAccounts(COFFEE_ACCOUNT_ID, WHOLESALE_ACCOUNT_ID);
  const [{ expires_at: end }] = (await context.api.db.query("select expires_at from ad_connections")) as [
    { expires_at: Date },
  ];
  const warnedDays: number[] = [];
  for (const daysBefore of [14.5, 13.5, 7.5, 6.9, 1.5, 0.9, 0.5]) {
    now = end.getTime() - daysBefore * DAY;
    if ((await context.check()).warned) warnedDays.push(daysBefore);
  }
  t.same(warnedDays, [13.5, 6.9, 0.9]);
  const warnings = (await readClientEvents(context.api, advertiser.id)).filter(
    ({ type }) => type === "ad_account.token_expiring",
  );
  t.same(
    warnings.map(({ payload }) => payload.data.days_left),
    [14, 14, 7, 7, 1, 1],
    "one warning per account",
  );
  t.match(warnings[0], {
    payload: { data: { expires_at: end.toISOString(), ad_account: { status: "available" } } },
  });

  now = end.getTime() + 1_000;
  t.match(await context.check(), { revoked: 2, warned: 0 });
});

t.test("the due warning depends on the days left", async (t) => {
  const now = Date.now();
  for (const [days, threshold, daysLeft] of [
    [14.01, undefined, undefined],
    [14, 14, 14],
    [7.01, 14, 8],
    [7, 7, 7],
    [1.01, 7, 2],
    [1, 1, 1],
    [0.001, 1, 1],
    [0, undefined, undefined],
    [-1, undefined, undefined],
  ] as const)
    t.same(
      dueWarning(new Date(now + days * DAY), now),
      threshold === undefined ? undefined : { threshold, daysLeft },
      `${days} days`,
    );
  t.equal(dueWarning(null, now), undefined);
});

t.test("a failed subscription of an account is retried by the check", async (t) => {
  const context = await startChecks(t);
  const advertiser = await context.makeAdvertiser();
  const [coffee] = await advertiser.connectAdAccounts(COFFEE_ACCOUNT_ID, WHOLESALE_ACCOUNT_ID);
  await context.arm({
    kind: "error",
    code: 200,
    times: 2,
    match: { path_prefix: `/act_${COFFEE_ACCOUNT_ID}/subscribed_apps` },
  });
  await advertiser.call("PATCH", `/ad-accounts/${coffee.id}`, { status: "active" });
  t.same(await context.check(), { ...NO_COUNTS, checked: 1, not_subscribed: 1 });
  t.same(await context.check(), { ...NO_COUNTS, checked: 1, subscribed: 1 });
  t.same(await context.check(), { ...NO_COUNTS, checked: 1 });
});

t.test("a pause of the app stops the check without further calls", async (t) => {
  const context = await startChecks(t);
  const advertiser = await context.makeAdvertiser();
  for (const accountId of AD_ACCOUNT_IDS.slice(0, 6))
    await grantAdAccount(context.api, advertiser, { accountId, token: issueAdToken([accountId]) });
  await context.check();
  await context.arm({ kind: "throttle", code: 4, match: { path_prefix: "/debug_token" } });
  const scheduledAt = new Date();
  const paused = (scheduledAt: Date): Promise<{ message: string; counts: Record<string, number> }> =>
    context.check(undefined, scheduledAt).then(
      () => t.fail("the check was not stopped"),
      (trouble) => trouble,
    );
  const { message, counts } = await paused(scheduledAt);
  t.match(message, /too many calls/, "the failed run names the reason");
  const { left = 0, checked = 0 } = counts;
  t.ok(left > 0, `left: ${left}`);
  t.equal(left + checked, 6);
  const before = await context.calls("/");
  t.match(await paused(scheduledAt), { message: /paused/, counts: { checked: 0, left } });
  t.equal(await context.calls("/"), before, "the platform is not called");
});

t.test("a check that the app's pause stopped continues when the pause is over", async (t) => {
  const context = await startChecks(t);
  const advertiser = await context.makeAdvertiser();
  await advertiser.connectAdAccounts(COFFEE_ACCOUNT_ID);
  const redis = await connectRedis(t, context.redisUrl);
  await createPauses(redis).pause("app", 60_000); // as another process does
  const before = await context.calls("/");
  const scheduledAt = new Date();
  const check = () => context.check(undefined, scheduledAt);
  await t.rejects(check(), { name: "JobError", message: /paused/, counts: { checked: 0, left: 1 } });
  t.equal(await context.calls("/"), before, "the platform is not called");
  await redis.del("herald:{pauses}:app");
  t.same(await check(), { ...NO_COUNTS, checked: 1 });
});

t.test("a throttled or broken connection does not stop the checks of others", async (t) => {
  const context = await startChecks(t);
  const first = await context.makeAdvertiser();
  await grantAdAccount(context.api, first, { token: "EAASandboxDemoAds", accountId: COFFEE_ACCOUNT_ID });
  await context.api.db.query("update ad_connections set token_sealed = 'k9.AAAA'");
  const second = await context.makeAdvertiser();
  await second.connectAdAccounts(COFFEE_ACCOUNT_ID);
  const third = await context.makeAdvertiser();
  await third.connectAdAccounts(COFFEE_ACCOUNT_ID);
  await context.arm({ kind: "throttle", code: 17, times: 1, match: { path_prefix: "/me/adaccounts" } });
  t.same(await context.check(), { ...NO_COUNTS, checked: 1, failed: 2 });
  t.match(
    context.lines.filter(({ event }) => event === "ad_connection.check_failed").map(({ client }) => client),
    [first.id],
  );
});

t.test("an unavailable platform stops the check early and fails the run", async (t) => {
  const context = await startChecks(t);
  const advertiser = await context.makeAdvertiser();
  for (let count = 0; count < 12; count += 1) await grantAdAccount(context.api, advertiser);
  await context.arm({ kind: "drop_before", times: 1_000 });
  await t.rejects(context.check(), { name: "JobError", counts: { checked: 0 } });
  const checkedIds = new Set(
    context.lines
      .filter(({ event }) => event === "ad_connection.check_failed")
      .map(({ connection }) => connection),
  );
  t.ok(checkedIds.size >= 5 && checkedIds.size < 12, `${checkedIds.size} of 12`);
});

t.test("a client is warned of a token's expiry even when the token may not read its accounts", async (t) => {
  let ahead = 0;
  const context = await startChecks(t, () => Date.now() + ahead);
  const advertiser = await context.makeAdvertiser();
  await advertiser.connectAdAccounts(COFFEE_ACCOUNT_ID);
  ahead = 55 * DAY;
  await context.arm({ kind: "error", code: 200, times: 2, match: { path_prefix: "/me/adaccounts" } });
  t.match(await context.check(), { checked: 1, failed: 0, warned: 1 });
  t.match(await context.check(), { checked: 1, failed: 0, warned: 0 });
  t.same(await typesOf(context, advertiser), ["ad_account.token_expiring"]);
});
