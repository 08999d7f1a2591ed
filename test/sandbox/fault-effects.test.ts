import t from "tap";
import { throttleReply } from "../../src/sandbox/fault-effects.ts";
import type { UsageKind } from "../../src/sandbox/graph/node.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary fields
const errorOf = (body: unknown) => (body as any).error;

const quota = (usage: UsageKind | undefined, edge = "GET") => ({ usage, asset: "77", edge });

t.test("every quota has its own error code", async (t) => {
  const codes = new Map<UsageKind | undefined, [code: number, subcode: number | undefined]>([
    ["ads_management", [80004, 2446079]],
    ["ads_insights", [80000, 2446079]],
    ["whatsapp", [80007, undefined]],
    ["messenger", [80006, undefined]],
    ["instagram", [80002, undefined]],
    ["pages", [80001, undefined]],
    [undefined, [4, undefined]],
  ]);
  for (const [usage, [code, subcode]] of codes) {
    const { status, body } = throttleReply(quota(usage), {});
    t.equal(status, 400);
    t.match(errorOf(body), { code, error_subcode: subcode, is_transient: false }, usage ?? "the app");
  }
  t.equal(errorOf(throttleReply(quota("whatsapp", "POST messages"), {}).body).code, 130429);
  t.equal(errorOf(throttleReply(quota("messenger", "POST messages"), {}).body).code, 80006);
  const chosen = throttleReply(quota("ads_management"), { code: 17, subcode: 1885172 });
  t.match(errorOf(chosen.body), { code: 17, error_subcode: 1885172 });
});

t.test("the waiting time is in minutes in one header and in seconds in another", async (t) => {
  const { headers } = throttleReply(quota("ads_management"), { ms: 90_500 });
  t.match(JSON.parse(headers["x-business-use-case-usage"] ?? ""), {
    77: [{ type: "ads_management", call_count: 100, estimated_time_to_regain_access: 2 }],
  });
  t.match(JSON.parse(headers["x-ad-account-usage"] ?? ""), { acc_id_util_pct: 100, reset_time_duration: 91 });
  t.equal(
    JSON.parse(headers["x-app-usage"] ?? "").call_count,
    99,
    "the account's quota is exhausted, not the app's",
  );
  for (const code of [4, 341]) {
    const appHeaders = throttleReply(quota("ads_management"), { code }).headers;
    t.same(Object.keys(appHeaders), ["x-app-usage"], "the app's limit leaves the account's quota alone");
    t.equal(JSON.parse(appHeaders["x-app-usage"] ?? "").call_count, 100);
  }
  const defaultHeaders = throttleReply(quota("ads_management"), {}).headers;
  t.equal(JSON.parse(defaultHeaders["x-ad-account-usage"] ?? "").reset_time_duration, 60);
});
