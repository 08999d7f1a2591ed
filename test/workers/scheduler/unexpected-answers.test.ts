import type { Test } from "tap";
import t from "tap";
import { createMetrics } from "../../../src/runtime/metrics.ts";
import { setCronGauges } from "../../../workers/scheduler/cron.ts";
import { startApi } from "../../fixtures/http/api.ts";
import { adAccountRow, startScriptedAdPlatform } from "../../fixtures/platforms/scripted-ad-platform.ts";
import { createTokenCheck } from "../../fixtures/platforms/token-check.ts";
import { readClientEvents, sendWebhook } from "../../fixtures/platforms/webhooks.ts";
import { grantAdAccount } from "../../fixtures/tenants/ad-accounts.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

/** All tests share it, because starting it takes longer than most of them. */
const api = await startApi(t);

/** A scripted ad platform that can give any answer, and no connections of earlier tests. */
async function startUnreliableAds(t: Test) {
  await api.db.query("delete from ad_accounts");
  await api.db.query("delete from ad_connections");
  const adPlatform = await startScriptedAdPlatform(t);
  const { check, lines } = await createTokenCheck(t, api, { AD_PLATFORM_URL: adPlatform.base });
  const grant = async (accountId: string, token: string) => {
    const tenant = await makeTenant(api);
    return { tenant, ...(await grantAdAccount(api, tenant, { accountId, token })) };
  };
  const statusOf = async (id: string) => {
    const [found] = await api.db.query<{ status: string }>("select status from ad_accounts where id = $1", [
      id,
    ]);
    return found?.status;
  };
  return { adPlatform, check, lines, grant, statusOf };
}

const CODE_613 = 613;

t.test("an invalid token is suspended until a call proves it dead", async (t) => {
  const { adPlatform, check, lines, grant, statusOf } = await startUnreliableAds(t);
  const { id } = await grant("11", "EAAone");
  for (const data of [
    { is_valid: false },
    { is_valid: false, error: {} },
    { is_valid: false, error: { code: 1 } },
  ]) {
    adPlatform.setAnswer("debug_token", { data });
    t.match(await check(), { checked: 1, suspended: 1, revoked: 0 }, JSON.stringify(data));
    t.equal(await statusOf(id), "active");
  }
  t.equal(lines.filter(({ event }) => event === "ad_connection.suspended").length, 3);
  adPlatform.setAnswer("adaccounts", 190);
  t.match(await check(), { checked: 1, revoked: 1 }, "a call proves it dead");
  t.equal(await statusOf(id), "revoked");
});

t.test("an answer without a usable expiry keeps the known one", async (t) => {
  const { adPlatform, check, grant } = await startUnreliableAds(t);
  await grant("11", "EAAone");
  const expiry = async () => (await api.db.query("select expires_at from ad_connections"))[0];
  await check();
  const known = await expiry();
  t.match(known, { expires_at: Date });
  for (const expires_at of [undefined, "soon", -8e12, 9e15, null]) {
    adPlatform.setAnswer("debug_token", { data: { is_valid: true, user_id: "42", expires_at } });
    t.match(await check(), { checked: 1, failed: 0 }, String(expires_at));
    t.same(await expiry(), known, String(expires_at));
  }
  adPlatform.setAnswer("debug_token", { data: { is_valid: true, user_id: "42", expires_at: 0 } });
  await check();
  t.same(await expiry(), { expires_at: null }, "0 means that it never expires");
});

t.test("a client that lost access to an account gets no events of it", async (t) => {
  const { adPlatform, check, lines, grant, statusOf } = await startUnreliableAds(t);
  const [former, present] = [await grant("11", "EAAformer"), await grant("11", "EAApresent")];
  adPlatform.setAnswer("adaccounts", ({ token }: { token: string }) => ({
    data: token === "EAApresent" ? [adAccountRow("11")] : [],
  }));
  t.match(await check(), { checked: 2, unreached: 0 }, "a list without the account proves nothing");
  adPlatform.setAnswer("act_11", ({ token }: { token: string }) =>
    token === "EAApresent" ? adAccountRow("11") : 200,
  );
  t.match(await check(), { checked: 2, unreached: 1, revoked: 0 });
  t.match(await check(), { checked: 2, unreached: 0 }, "reported once");
  t.match(
    lines.filter(({ event }) => event === "ad_account.unreachable"),
    [{ client: former.tenant.id, ad_account: "act_11" }],
  );
  const issue = { id: "9", level: "AD", error_code: "1", error_summary: "s", error_message: "m" };
  const sendIssueWebhook = async () =>
    sendWebhook(api, {
      object: "ad_account",
      entry: [
        {
          id: "11",
          time: Date.now(),
          changes: [{ field: "with_issues_ad_objects", value: { ...issue, at: Math.random() } }],
        },
      ],
    });
  await sendIssueWebhook();
  const typesOf = async (clientId: string) =>
    (await readClientEvents(api, clientId))
      .map(({ type }) => type)
      .filter((type) => type.startsWith("ad_object"));
  t.same(await typesOf(present.tenant.id), ["ad_object.with_issues"]);
  t.same(await typesOf(former.tenant.id), []);
  t.equal(await statusOf(former.id), "active", "the account's status is unchanged");
  adPlatform.resetAnswers();
  await check();
  await sendIssueWebhook();
  t.same(
    await typesOf(former.tenant.id),
    ["ad_object.with_issues"],
    "events resume once it has access again",
  );
});

t.test("one client's failing account lists do not stop the checks of others", async (t) => {
  const { adPlatform, check } = await startUnreliableAds(t);
  const [silent, other] = [await makeTenant(api), await makeTenant(api)];
  for (let count = 0; count < 8; count += 1)
    await grantAdAccount(api, silent, { token: `EAAsilent${count}` });
  await grantAdAccount(api, other, { token: "EAAother" });
  adPlatform.setAnswer("adaccounts", ({ token }: { token: string }) =>
    token.startsWith("EAAsilent") ? "<html>" : { data: [] },
  );
  t.match(await check(), { checked: 1, failed: 8, left: 0 });
});

t.test("a throttled token does not pause the app", async (t) => {
  const { adPlatform, check, grant } = await startUnreliableAds(t);
  await grant("11", "EAAbusy");
  await grant("12", "EAAidle");
  adPlatform.setAnswer("debug_token", ({ token }: { token: string }) =>
    token === "EAAbusy" ? CODE_613 : { data: { is_valid: true, user_id: "42", expires_at: 0 } },
  );
  t.match(await check(), { checked: 1, failed: 1, left: 0 });
});

t.test("a paused account does not stop the checks of others", async (t) => {
  const { adPlatform, check, grant } = await startUnreliableAds(t);
  await grant("11", "EAAbusy");
  await grant("12", "EAAidle");
  adPlatform.setAnswer("adaccounts", { data: [] });
  adPlatform.setAnswer("act_11", 17);
  t.match(await check(), { checked: 1, failed: 1, left: 0 }, "the platform throttles the account");
  const before = adPlatform.callCount();
  t.match(await check(), { checked: 1, failed: 1, left: 0 }, "the account is paused");
  t.equal(adPlatform.callCount(), before + 5, "it is not called");
});

t.test("a dead token that two clients share is revoked for both", async (t) => {
  const { adPlatform, check, grant, statusOf } = await startUnreliableAds(t);
  const [one, other, third] = [
    await grant("11", "EAAsame"),
    await grant("12", "EAAsame"),
    await grant("13", "EAAanother"),
  ];
  adPlatform.setAnswer("debug_token", ({ token }: { token: string }) =>
    token === "EAAsame"
      ? { data: { is_valid: false, error: { code: 190, subcode: 460, message: "dead" } } }
      : { data: { is_valid: true, user_id: "42", expires_at: 0 } },
  );
  t.match(await check(), { revoked: 2 });
  t.same(
    [await statusOf(one.id), await statusOf(other.id), await statusOf(third.id)],
    ["revoked", "revoked", "active"],
  );
});

t.test("a failed run makes no further calls", async (t) => {
  const { adPlatform, check } = await startUnreliableAds(t);
  const tenant = await makeTenant(api);
  for (let count = 0; count < 8; count += 1)
    await grantAdAccount(api, tenant, { token: `EAA${count}`, status: "available" });
  await api.db.query("alter table ad_connections add constraint never check (checked_in is null)");
  await t.rejects(check(), { code: "23514" });
  const asked = adPlatform.callCount();
  await api.db.query("alter table ad_connections drop constraint never");
  t.match(await check(), { checked: 8 });
  t.equal(adPlatform.callCount(), asked + 24, "no calls of the failed run follow");
});

t.test("a tick from a clock that is ahead does not block later ticks", async (t) => {
  const { check, grant } = await startUnreliableAds(t);
  await grant("11", "EAAone");
  t.match(await check(undefined, new Date(Date.now() + 365 * 86_400_000)), { checked: 1 });
  t.match(await check(), { checked: 1 });
});

t.test("an aborted run stops without deaths, and its connections come first next time", async (t) => {
  const { adPlatform, check } = await startUnreliableAds(t);
  const tenant = await makeTenant(api);
  for (let count = 0; count < 8; count += 1)
    await grantAdAccount(api, tenant, { token: `EAA${count}`, status: "available" });
  const stop = new AbortController();
  let letAnswer = () => {};
  const answered = new Promise<void>((resolve) => {
    letAnswer = resolve;
  });
  adPlatform.setAnswer("debug_token", async () => {
    await answered;
    return { data: { is_valid: true, user_id: "42", expires_at: 0 } };
  });
  const scheduledAt = new Date();
  const running = check(stop.signal, scheduledAt);
  await until("four checks are running", () => adPlatform.callCount() === 4);
  stop.abort(new Error("the process ends"));
  await t.rejects(running, { message: "the process ends" });
  const stopped = await api.db.query("select deaths, checked_in from ad_connections");
  t.same(stopped, Array(8).fill({ deaths: 0, checked_in: null }));
  letAnswer();
  t.match(await check(undefined, scheduledAt), { checked: 8, left: 0 });
});

t.test(
  "a refused account list makes only those accounts unreachable that are refused one by one",
  async (t) => {
    const { adPlatform, check, grant } = await startUnreliableAds(t);
    const [open, closed] = [await grant("11", "EAAone"), await grant("12", "EAAone")];
    adPlatform.setAnswer("adaccounts", 294);
    adPlatform.setAnswer("act_12", 10);
    t.match(await check(), { checked: 2, failed: 0, unreached: 1 });
    const lost = await api.db.query("select id from ad_accounts where unreached_since is not null");
    t.same(lost, [{ id: closed.id }]);
    t.not(open.id, closed.id);
  },
);

t.test("a run that checked nothing fails", async (t) => {
  const { adPlatform, check } = await startUnreliableAds(t);
  const tenant = await makeTenant(api);
  for (let count = 0; count < 3; count += 1)
    await grantAdAccount(api, tenant, { token: `EAA${count}`, status: "available" });
  const nothing = { name: "JobError", counts: { checked: 0 } };
  for (const [path, answer] of [
    ["debug_token", 613],
    ["debug_token", 17],
    ["debug_token", "<html>"],
    ["adaccounts", "<html>"],
    ["adaccounts", 80004],
  ] as const) {
    adPlatform.setAnswer(path, answer);
    await t.rejects(check(), nothing, `${path}: ${answer}`);
    adPlatform.resetAnswers();
  }
  await api.db.query("update ad_connections set token_sealed = 'lost.AAAA'");
  await t.rejects(check(), { ...nothing, counts: { failed: 3 } });
});

t.test("two concurrent ticks check every connection, none more than once each", async (t) => {
  const { adPlatform, check } = await startUnreliableAds(t);
  const tenant = await makeTenant(api);
  const count = 24;
  for (let number = 0; number < count; number += 1)
    await grantAdAccount(api, tenant, { token: `EAA${number}`, status: "available" });
  const checked = (await Promise.all([check(), check()])).map((counts) => counts.checked ?? 0);
  t.same(await api.db.query("select id from ad_connections where checked_in is null"), []);
  // A tick may skip connections that the other has checked.
  for (const connections of checked) t.ok(connections <= count, `${connections} checked`);
  const total = checked.reduce((sum, connections) => sum + connections, 0);
  t.equal(adPlatform.callCount(), 3 * total, "the token, the list, and the account missing from it");
});

t.test("a pause of the app during the account list stops the check", async (t) => {
  const { adPlatform, check } = await startUnreliableAds(t);
  const tenant = await makeTenant(api);
  for (let count = 0; count < 8; count += 1)
    await grantAdAccount(api, tenant, { token: `EAA${count}`, status: "available" });
  adPlatform.setAnswer("adaccounts", 4);
  await t.rejects(check(), { name: "JobError", counts: { checked: 0, failed: 0, left: 8 } });
});

t.test("an extended expiry is followed by new warnings", async (t) => {
  const { adPlatform, check, grant } = await startUnreliableAds(t);
  await grant("11", "EAAone");
  const ending = (days: number) => ({
    data: { is_valid: true, user_id: "42", expires_at: Math.floor(Date.now() / 1000 + days * 86_400) },
  });
  const warned: unknown[] = [];
  for (const days of [0.5, 60, 10, 10, 5]) {
    adPlatform.setAnswer("debug_token", ending(days));
    warned.push((await check()).warned);
  }
  t.same(warned, [1, 0, 1, 0, 1]);
});

t.test("an invalid token whose account list fails is not suspended", async (t) => {
  const { adPlatform, check, grant } = await startUnreliableAds(t);
  await grant("11", "EAAone");
  adPlatform.setAnswer("debug_token", { data: { is_valid: false } });
  adPlatform.setAnswer("adaccounts", "<html>");
  await t.rejects(check(), { name: "JobError", counts: { suspended: 0, failed: 1 } });
});

t.test("a token that is dead at the subscription is revoked", async (t) => {
  const { adPlatform, check, grant, statusOf } = await startUnreliableAds(t);
  const { id } = await grant("11", "EAAone");
  const other = await grant("12", "EAAone");
  adPlatform.setAnswer("adaccounts", { data: [adAccountRow("11"), adAccountRow("12")] });
  adPlatform.setAnswer("subscribed_apps", 190);
  t.match(await check(), { revoked: 2, not_subscribed: 0 });
  t.same([await statusOf(id), await statusOf(other.id)], ["revoked", "revoked"]);
});

t.test(
  "a connection whose checks did not end is checked last, and after three of them not at all",
  async (t) => {
    const { adPlatform, check, lines, grant } = await startUnreliableAds(t);
    const killing = await grant("11", "EAAkilling");
    await grant("12", "EAAother");
    const inspected: string[] = [];
    adPlatform.setAnswer("debug_token", ({ token }: { token: string }) => {
      inspected.push(token);
      return { data: { is_valid: true, user_id: "42", expires_at: 0 } };
    });
    const setDeaths = (deaths: number) =>
      api.db.query(
        "update ad_connections set deaths = $2 where id = (select connection_id from ad_accounts where id = $1)",
        [killing.id, deaths],
      );
    const readDeaths = async () =>
      (await api.db.query<{ deaths: number }>("select deaths from ad_connections order by deaths")).map(
        ({ deaths }) => deaths,
      );
    for (const deaths of [1, 2]) {
      await setDeaths(deaths);
      t.match(await check(), { checked: 2, quarantined: 0, left: 0 });
      t.same(await readDeaths(), [0, 0], "a check that ends resets the deaths");
      t.same(inspected.splice(0), ["EAAother", "EAAkilling"]);
    }
    await setDeaths(3);
    for (const round of [1, 2])
      t.match(await check(), { checked: 1, quarantined: 1, left: 0 }, `run ${round}`);
    t.same(inspected.splice(0), ["EAAother", "EAAother"]);
    t.same(await readDeaths(), [0, 3]);
    const metrics = createMetrics("scheduler");
    await setCronGauges({ db: api.db, jobs: [], metrics });
    t.match(await metrics.text(), /herald_cron_quarantined_rows\{job="tokens",[^}]*\} 1/);
    t.match(
      lines.filter(({ event }) => event === "ad_connection.quarantined"),
      [{ level: "error", client: killing.tenant.id, connection: /^con_/, deaths: 3 }],
      "logged once",
    );
    await setDeaths(0);
    t.match(await check(), { checked: 2, quarantined: 0 }, "an operator makes it checked again");
  },
);
