import t from "tap";
import { startApi } from "../../../fixtures/http/api.ts";
import { adAccountRow, startScriptedAdPlatform } from "../../../fixtures/platforms/scripted-ad-platform.ts";
import { readClientEvents } from "../../../fixtures/platforms/webhooks.ts";
import { makeTenant } from "../../../fixtures/tenants/tenants.ts";

t.test("OAuth exchange with unexpected platform responses", async (t) => {
  const platform = await startScriptedAdPlatform(t);
  const api = await startApi(t, {
    settings: { AD_PLATFORM_URL: platform.base },
    gates: { terms: async () => {} },
  });
  const exchange = async () => {
    const tenant = await makeTenant(api);
    const { headers } = await tenant.createKey("marketing:read", "marketing:manage");
    const { state, redirect_uri } = (await api.call("GET", "/api/marketing/oauth/url", { headers })).body;
    const json = { code: "AQcode-of-somebody", state, redirect_uri };
    const reply = await api.call("POST", "/api/marketing/oauth/exchange", { headers, json });
    const stored = await api.db.query("select expires_at from ad_connections where client_id = $1", [
      tenant.id,
    ]);
    return { tenant, reply, stored };
  };

  t.test("an exchange with a malformed response stores nothing", async (t) => {
    const malformedAnswers = [
      ["access_token", {}],
      ["access_token", { access_token: "" }],
      ["permissions", { data: "all" }],
      ["debug_token", { data: {} }],
      ["debug_token", { data: { is_valid: true } }],
      ["debug_token", { data: { is_valid: true, user_id: "not-an-id" } }],
      ["debug_token", { data: { is_valid: false, user_id: "42" } }],
      ["adaccounts", { data: [{ name: "Nameless" }] }],
      ["adaccounts", { data: [{ id: "act_x", account_id: "x" }] }],
      ["adaccounts", { data: [adAccountRow("1".repeat(40))] }],
      ["adaccounts", { data: { 0: adAccountRow("11") } }],
      ["adaccounts", { data: [adAccountRow("11")], paging: { next: "https://ads.example/next" } }],
      ["adaccounts", "<html>"],
      ["adaccounts", `{"data":[],"x":${"[".repeat(101)}${"]".repeat(101)}}`],
    ] as const;
    for (const [path, answer] of malformedAnswers) {
      platform.setAnswer(path, answer);
      const { reply, stored } = await exchange();
      const name = `${path}: ${JSON.stringify(answer).slice(0, 60)}`;
      t.match(reply, { status: 502, body: { error: "platform_unavailable", retryable: false } }, name);
      t.same(stored, [], name);
      platform.resetAnswers();
    }
  });

  t.test("only a permission with status granted counts as granted", async (t) => {
    for (const data of [
      [],
      [{ permission: "ads_management" }],
      [{ permission: "ads_management", status: true }],
      [null, 7],
    ]) {
      platform.setAnswer("permissions", { data });
      const { reply, stored } = await exchange();
      t.match(reply, {
        status: 400,
        body: { error: "missing_permission", missing: ["ads_management", "ads_read", "business_management"] },
      });
      t.same(stored, []);
    }
    platform.resetAnswers();
  });

  t.test("malformed account fields are replaced, and valid ones are stored", async (t) => {
    platform.setAnswer("adaccounts", {
      data: [
        adAccountRow("11", { name: "a\u0000b \ud800 \u{1f600}", account_status: 2 ** 40, business: 7 }),
        adAccountRow("12", {
          name: "x".repeat(10_000),
          account_status: 1.5,
          currency: null,
          timezone_name: 9,
        }),
        adAccountRow("11", { name: "The same again" }),
        adAccountRow("13", { account_status: "3", business: { id: 99, name: "Nine" } }),
      ],
    });
    const { tenant, reply } = await exchange();
    t.equal(reply.status, 200);
    t.match(reply.body, [
      { ad_account_id: "act_11", name: "The same again", account_status: 1 },
      {
        name: /^x{10000}$/,
        account_status: 0,
        account_status_label: "unknown",
        currency: "",
        timezone_name: "9",
      },
      { account_status: 3, account_status_label: "unsettled", business_id: "99", business_name: "Nine" },
    ]);
    t.equal(reply.body.length, 3, "a duplicate account is stored once");
    t.equal((await readClientEvents(api, tenant.id)).length, 3);
    platform.setAnswer("adaccounts", { data: [adAccountRow("11", { name: "a\u0000b \ud800 \u{1f600}" })] });
    t.match((await exchange()).reply, { status: 200, body: [{ name: "a\ufffdb \ufffd \u{1f600}" }] });
    platform.resetAnswers();
  });

  t.test("an impossible expiry is ignored", async (t) => {
    for (const expires_at of [-3e11, -8e12, 9e15, "soon", null]) {
      platform.setAnswer("debug_token", { data: { is_valid: true, user_id: "42", expires_at } });
      platform.setAnswer("access_token", { access_token: "EAAOddTokenOfSomebody", expires_in: -8e12 });
      const { reply, stored } = await exchange();
      t.equal(reply.status, 200, String(expires_at));
      t.same(stored, [{ expires_at: null }], String(expires_at));
    }
    platform.resetAnswers();
  });

  t.test("secrets that the platform quotes are redacted from the reply", async (t) => {
    platform.setAnswer("adaccounts", ({ token, query }: { token: string; query: URLSearchParams }) => ({
      error: {
        code: 100,
        message: `Bad ${token} with ${query.get("appsecret_proof")}`,
        error_data: { blame_field_specs: [[token]] },
      },
    }));
    const { reply } = await exchange();
    t.match(reply, {
      status: 400,
      body: { error: "platform_invalid_request", platform_error: { code: 100, fields: ["[secret]"] } },
    });
    t.match(reply.body.message, /^Bad \[secret\] with \[secret\]/);
  });
});
