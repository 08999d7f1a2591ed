import t from "tap";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { startApi } from "../../fixtures/http/api.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";

const TOKEN = "a-token-of-the-operator";

t.test("a running process reports ok", async (t) => {
  const api = await startApi(t);
  const reply = await api.call("GET", "/healthz");
  t.equal(reply.status, 200);
  t.match(reply.body, { status: "ok", version: /^\d+\.\d+\.\d+$/ });
});

t.test("the process is ready when Postgres and Redis are reachable", async (t) => {
  const api = await startApi(t);
  const reply = await api.call("GET", "/readyz?from=balancer&from=elsewhere");
  t.equal(reply.status, 200);
  t.same(reply.body, { status: "ready", postgres: "ok", redis: "ok" });
});

t.test("the process is degraded and still ready without Redis", async (t) => {
  const api = await startApi(t, { settings: { REDIS_URL: "redis://127.0.0.1:1" } });
  const reply = await api.call("GET", "/readyz");
  t.equal(reply.status, 200);
  t.same(reply.body, { status: "degraded", postgres: "ok", redis: "away" });
});

t.test("the process is not ready without Postgres and sends Retry-After", async (t) => {
  const settings = { ...(await testSettings(t)), DATABASE_URL: "postgres://none@127.0.0.1:1/none" };
  const api = await startApi(t, { config: readConfig(settings) });
  const reply = await api.call("GET", "/readyz");
  t.equal(reply.status, 503);
  t.equal(reply.body.error, "temporarily_unavailable");
  t.equal(reply.headers.get("retry-after"), "5");
  t.equal((await api.call("GET", "/healthz")).status, 200);
});

t.test("metrics are not found until METRICS_TOKEN is set", async (t) => {
  const api = await startApi(t);
  t.equal(
    (await api.call("GET", "/metrics", { headers: { authorization: "Bearer undefined" } })).status,
    404,
  );
});

t.test("metrics require the operator's token", async (t) => {
  const api = await startApi(t, { settings: { METRICS_TOKEN: TOKEN } });
  t.equal((await api.call("GET", "/metrics")).status, 401);
  t.equal((await api.call("GET", "/metrics", { headers: { authorization: "Bearer another" } })).status, 401);
  await api.call("GET", "/healthz");
  const reply = await api.call("GET", "/metrics", { headers: { authorization: `Bearer ${TOKEN}` } });
  t.equal(reply.status, 200);
  t.match(reply.headers.get("content-type"), /^text\/plain/);
  t.match(
    reply.text,
    /herald_http_requests_total\{method="GET",route="\/healthz",status="200",process="web"\} 1/,
  );
});
