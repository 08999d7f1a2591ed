import t from "tap";
import { startApi } from "../../../fixtures/http/api.ts";
import { makeTenant } from "../../../fixtures/tenants/tenants.ts";

const NAMES = [
  "ad_account_status",
  "async_status",
  "bid_strategy",
  "billing_event",
  "buying_type",
  "call_to_action_type",
  "date_preset",
  "insights_fields",
  "level",
  "objective",
  "optimization_goal",
  "platforms",
  "special_ad_categories",
  "status",
  "template_status",
  "time_increment",
];

t.test("enumerations", async (t) => {
  const api = await startApi(t);
  const { headers } = await (await makeTenant(api)).createKey("marketing:read");
  const get = (more: Record<string, string> = {}) =>
    api.call("GET", "/api/marketing/enums", { headers: { ...headers, ...more } });

  t.test("every enumeration is listed by the name of its field", async (t) => {
    const { status, body } = await get();
    t.equal(status, 200);
    t.same(Object.keys(body).sort(), NAMES);
    for (const [name, values] of Object.entries<string[]>(body)) {
      t.ok(values.length > 1 && values.every((value) => typeof value === "string"), name);
      t.equal(new Set(values).size, values.length, `${name} has no duplicates`);
    }
    t.same(body.status, ["ACTIVE", "PAUSED", "DELETED", "ARCHIVED"]);
    t.same(body.time_increment, ["1", "7", "28", "monthly", "all_days"]);
    const counts = { objective: 21, optimization_goal: 33, call_to_action_type: 19, date_preset: 20 };
    for (const [name, count] of Object.entries(counts)) t.equal(body[name].length, count, name);
  });

  t.test("the lists are those that requests are checked against", async (t) => {
    const { components } = (await api.call("GET", "/api/openapi.json")).body;
    const { body } = await get();
    const schemas = {
      status: "AdObjectStatus",
      objective: "Objective",
      special_ad_categories: "SpecialAdCategory",
      buying_type: "BuyingType",
      bid_strategy: "BidStrategy",
      billing_event: "BillingEvent",
      optimization_goal: "OptimizationGoal",
      call_to_action_type: "CallToActionType",
    };
    for (const [name, schema] of Object.entries(schemas))
      t.same(body[name], components.schemas[schema].enum, name);
  });

  t.test("a caller that has the current lists gets 304", async (t) => {
    const first = await get();
    const etag = first.headers.get("etag") as string;
    t.match(etag, /^"[\w-]+"$/);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const again = await get({ "if-none-match": known });
      t.equal(again.status, 304, known);
      t.equal(again.text, "");
      t.equal(again.headers.get("etag"), etag);
    }
    for (const other of ['"other"', etag.slice(1, -1), ""])
      t.equal((await get({ "if-none-match": other })).status, 200, other);
  });
});
