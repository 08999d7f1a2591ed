import t from "tap";
import { startBackend } from "../fixtures/events/backends.ts";
import { configureWebhook, makeEvents } from "../fixtures/events/events.ts";
import { startHostileService } from "../fixtures/hostile/service.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";
import { until } from "../fixtures/until.ts";

const TOKENS = [
  `${"\\".repeat(30)}a`,
  `${"-".repeat(24)}x`,
  `${"%25".repeat(80)}x`,
  `${"&#45;".repeat(50)}x`,
  "a".repeat(256),
];

const ANSWERS = ["\\", "-", "%25", "&#45;", "&amp;", "a"].flatMap((text) => [
  text.repeat(80),
  text.repeat(Math.floor(60_000 / text.length)),
]);

t.test("no token and answer of a client's backend delay another client", async (t) => {
  const service = await startHostileService(t);
  let answers = 0;
  const backend = await startBackend(t, (request, response) => {
    request.resume();
    response.end(ANSWERS[answers++ % ANSWERS.length]);
  });
  for (const token of TOKENS) {
    const tenant = await makeTenant(service);
    const { headers } = await tenant.createKey("webhooks:manage");
    await configureWebhook(service, tenant, { url: backend.url });
    const config = { webhook_secret: token };
    t.equal((await service.call("PATCH", "/api/webhooks/config", { headers, json: config })).status, 200);
    await service.underProbes(t, `the token ${token.slice(0, 20)}`, async () => {
      for (const _ of ANSWERS) {
        const test = await service.call("POST", "/api/webhooks/test", { headers });
        t.equal(test.body.delivered, true);
      }
      const ids = await makeEvents(service, tenant, ...ANSWERS.map((_, index) => ({ dedupKey: `${index}` })));
      await until("the dispatcher has delivered the events", async () => {
        const path = "/api/webhooks/events?status=delivered&type=message.received&limit=100";
        return (await service.call("GET", path, { headers })).body.data.length === ids.length;
      });
    });
  }
});
