import t from "tap";
import { makeEvents, RECEIVED_TEXT } from "../fixtures/events/events.ts";
import { checkAnswer } from "../fixtures/hostile/answers.ts";
import { watchGrowthMib } from "../fixtures/hostile/process-state.ts";
import { openSockets, repeatPlan, requestHead } from "../fixtures/hostile/raw-sockets.ts";
import { sharedHostileService } from "../fixtures/hostile/service.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";
import { until } from "../fixtures/until.ts";

/** At most 32 requests wait; those that arrive in parts may be answered before that many have come. */
const MAX_ANSWERS = 100;
const REQUESTS = 20_000;
const REQUESTS_PER_WRITE = 1_000;

/** The test of unread answers in `long` has twice as many. */
const CONNECTIONS = 120;
/** Their lists alone would take 10 s, which is twice the time that a request waits for Postgres. */
const LISTING_CONNECTIONS = 60;

t.test("a connection with too many pipelined requests is closed", async (t) => {
  const service = await sharedHostileService();
  const text = requestHead("GET /healthz").repeat(REQUESTS_PER_WRITE);
  const plan = { head: "", body: { text, times: REQUESTS / REQUESTS_PER_WRITE } };
  const reports = await service.underProbes(t, "5 connections with 20,000 requests", async () => {
    const sockets = openSockets(t, service.address, repeatPlan(5, plan));
    await until("each is closed or answered", async () =>
      (await sockets.reports()).every(
        ({ closedAfterMs, statuses }) => closedAfterMs !== undefined || statuses.length === REQUESTS,
      ),
    );
    return sockets.stop();
  });
  for (const { statuses } of reports)
    t.ok(statuses.length <= MAX_ANSWERS, `a connection has ${statuses.length} answers`);
});

t.test("pipelined lists of one client delay no other request", async (t) => {
  const service = await sharedHostileService();
  const makeClient = async (events: number) => {
    const tenant = await makeTenant(service);
    await makeEvents(
      service,
      tenant,
      ...Array.from({ length: events }, (_, index) => ({ ...RECEIVED_TEXT, dedupKey: `${index}` })),
    );
    return (await tenant.createKey("webhooks:manage")).headers;
  };
  const [attacker, other] = [await makeClient(100), await makeClient(1)];
  const head = requestHead("GET /api/webhooks/events?limit=100", attacker).repeat(30);
  await service.underProbes(t, `${LISTING_CONNECTIONS} connections with 30 lists`, async () => {
    const sockets = openSockets(t, service.address, repeatPlan(LISTING_CONNECTIONS, { head }));
    await until("all requests are sent", async () =>
      (await sockets.reports()).every(({ isAllSent }) => isAllSent),
    );
    const list = () => service.call("GET", "/api/webhooks/events", { headers: other });
    await checkAnswer(t, "another client's list", [200], list);
    await checkAnswer(t, "/readyz", [200], () => service.call("GET", "/readyz"));
    await checkAnswer(t, "another client's second list", [200], list);
    await sockets.stop();
  });
});

/** Without limits, the answers to 240 connections took 284 MiB. */
const MAX_GROWTH_MIB = 100;

t.test("answers that are not read take bounded memory and delay no other request", async (t) => {
  const service = await sharedHostileService();
  const growthMib = watchGrowthMib(service.web.child.pid as number);
  const head = requestHead("GET /api/openapi.json").repeat(30);
  await service.underProbes(t, `${CONNECTIONS} connections that do not read`, async () => {
    const sockets = openSockets(t, service.address, repeatPlan(CONNECTIONS, { head, ignoresAnswers: true }));
    await sockets.settled();
    for (let count = 0; count < 3; count++)
      await checkAnswer(t, "/readyz", [200], () => service.call("GET", "/readyz"));
    await sockets.stop();
  });
  const { child } = service.web;
  t.equal(child.exitCode ?? child.signalCode, null, "web is still running");
  const grownMib = growthMib();
  t.ok(grownMib < MAX_GROWTH_MIB, `web grows by ${grownMib} MiB`);
});
