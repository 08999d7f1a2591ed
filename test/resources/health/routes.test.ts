import t from "tap";
import { startApi } from "../../fixtures/http/api.ts";
import { until } from "../../fixtures/until.ts";

const TOKEN = "a-token-of-the-operator";

t.test("a running process reports ok", async (t) => {
  const api = await startApi(t);
  const reply = await api.call("GET", "/healthz");
  t.equal(reply.status, 200);
  t.match(reply.body, { status: "ok", version: /^\d+\.\d+\.\d+$/ });
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

t.test("probes are logged at level debug", async (t) => {
  const api = await startApi(t);
  for (const path of ["/healthz", "/readyz"]) await api.call("GET", path);
  const levels = await until("both are logged", () => {
    const lines = api.lines.filter(({ event }) => event === "http.request");
    return lines.length === 2 ? lines.map(({ level }) => level) : undefined;
  });
  t.same(levels, ["debug", "debug"]);
});
