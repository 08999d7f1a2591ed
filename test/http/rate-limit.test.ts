import t from "tap";
import { route } from "../../src/http/route.ts";
import { Type } from "../../src/schema/types.ts";
import { callerHeaders, startApi } from "../fixtures/http/api.ts";

const routes = () => [
  route({
    method: "get",
    path: "/thing",
    scope: "any_credential",
    summary: "Respond",
    reply: Type.Object({}),
    handle: () => ({}),
  }),
];

t.test(
  "a client sees its RateLimit headers and gets 429 at the limit, while another client does not",
  async (t) => {
    const api = await startApi(t, { routes, settings: { RATE_LIMIT_PER_MINUTE: "2" } });
    const [one, other] = [await callerHeaders(api.db), await callerHeaders(api.db)];
    const first = await api.call("GET", "/thing", { headers: one });
    t.equal(first.headers.get("ratelimit-limit"), "2");
    t.equal(first.headers.get("ratelimit-remaining"), "1");
    const reset = Number(first.headers.get("ratelimit-reset"));
    t.ok(reset > 0 && reset <= 60);
    await api.call("GET", "/thing", { headers: one });
    const third = await api.call("GET", "/thing", { headers: one });
    t.equal(third.status, 429);
    t.equal(third.body.error, "rate_limited");
    t.equal(third.headers.get("ratelimit-remaining"), "0");
    t.equal(third.headers.get("retry-after"), third.headers.get("ratelimit-reset"));
    t.equal((await api.call("GET", "/thing", { headers: other })).status, 200);
  },
);

t.test("a rate limit of 0 means no limit and no headers", async (t) => {
  const api = await startApi(t, { routes, settings: { RATE_LIMIT_PER_MINUTE: "0" } });
  const reply = await api.call("GET", "/thing", { headers: await callerHeaders(api.db) });
  t.equal(reply.status, 200);
  t.equal(reply.headers.get("ratelimit-limit"), null);
});

t.test("requests pass while Redis is unreachable, and this is logged at most once a second", async (t) => {
  const api = await startApi(t, {
    routes,
    settings: { RATE_LIMIT_PER_MINUTE: "1", REDIS_URL: "redis://127.0.0.1:1" },
  });
  const headers = await callerHeaders(api.db);
  const startedAt = Date.now();
  for (let count = 0; count < 5; count++) t.equal((await api.call("GET", "/thing", { headers })).status, 200);
  const seconds = Math.floor((Date.now() - startedAt) / 1_000);
  const skipped = api.lines.filter((line) => line.event === "rate_limit.skipped");
  t.ok(skipped.length >= 1 && skipped.length <= 1 + seconds, `${skipped.length} lines in ${seconds} s`);
});
