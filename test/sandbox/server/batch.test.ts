import t from "tap";
import { AD_ACCOUNT_ID, DEMO_ADS_TOKEN } from "../../fixtures/sandbox/ad-platform.ts";
import { callSandbox, startSandbox } from "../../fixtures/sandbox/sandbox.ts";

t.test("a batch answers several calls in one request", async (t) => {
  const { origin } = await startSandbox(t);
  const send = (calls: unknown) =>
    callSandbox(`${origin}/`, { token: DEMO_ADS_TOKEN, form: { batch: JSON.stringify(calls) } });
  const get = (path: string) => ({ method: "GET", relative_url: `v26.0/${path}` });

  const { status, body } = await send([get(`${AD_ACCOUNT_ID}?fields=name,currency`), get("1?fields=name")]);
  t.equal(status, 200);
  t.match(body, [{ code: 200, headers: [{ name: String, value: String }] }, { code: 400 }]);
  t.match(JSON.parse(body[0].body), { id: AD_ACCOUNT_ID, currency: "BRL" });
  t.match(JSON.parse(body[1].body), { error: { code: 100, error_subcode: 33 } });

  const created = await send([
    {
      method: "POST",
      relative_url: `v26.0/${AD_ACCOUNT_ID}/campaigns`,
      body: "name=a&objective=OUTCOME_TRAFFIC&special_ad_categories=[]&status=PAUSED&is_adset_budget_sharing_enabled=false",
    },
  ]);
  t.match(JSON.parse(created.body[0].body), { id: /^\d+$/ });

  await callSandbox(`${origin}/_sandbox/faults`, {
    json: { kind: "drop_before", times: 1, match: { path_prefix: `/${AD_ACCOUNT_ID}` } },
  });
  t.match(
    (await send([get(AD_ACCOUNT_ID), get(AD_ACCOUNT_ID)])).body,
    [null, { code: 200 }],
    "faults meet its calls",
  );
  const { body: requests } = await callSandbox(`${origin}/_sandbox/requests`);
  t.match(requests.data[0], { method: "GET", path: `/v26.0/${AD_ACCOUNT_ID}` }, "its calls are recorded");

  for (const [title, calls] of [
    ["no calls", []],
    ["not a list", "x"],
    ["too many calls", Array.from({ length: 51 }, () => get("me"))],
    ["a control path", [{ method: "GET", relative_url: "_sandbox/inbox" }]],
    ["a batch in a batch", [{ method: "POST", relative_url: "/" }]],
    ["an invalid path", [{ relative_url: "http://" }]],
    ["no path", [{}]],
    ["null", [null]],
  ] as const)
    t.match(await send(calls), { status: 400, body: { error: { code: 100 } } }, title);
  const withoutToken = await callSandbox(`${origin}/`, { form: { batch: JSON.stringify([get("me")]) } });
  t.match(withoutToken.body, [{ code: 401 }]);
});
