import t, { type Test } from "tap";
import { toNewEvent } from "../../../src/domain/events/record-events.ts";
import { freePort } from "../../../src/local/server-process.ts";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { MAX_CLOCK_DIFFERENCE_MS } from "../../../src/runtime/deadlines.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import { newId, timeOfId } from "../../../src/runtime/ids.ts";
import { createDatabase, databaseTime } from "../../../src/store/database/database.ts";
import { insertEvents } from "../../../src/store/events/insert-events.ts";
import { followJson, followStream } from "../../fixtures/events/event-stream.ts";
import { withoutRetries } from "../../fixtures/events/queue-rows.ts";
import { pageWebhook, postWebhook } from "../../fixtures/platforms/webhooks.ts";
import { startWeb } from "../../fixtures/processes/processes.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { startTcpProxy } from "../../fixtures/servers/tcp-proxy.ts";
import { makeChannel, newPlatformId } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

/** Settings with a port that stays the same after a restart, a database and a client. */
async function prepare(t: Test) {
  const settings = { ...(await testSettings(t)), PORT: String(await freePort()) };
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  const tenant = await makeTenant({ db, config });
  const key = await tenant.createKey("webhooks:manage");
  return { settings, db, config, tenant, key, address: `http://127.0.0.1:${settings.PORT}` };
}

/** Options of a Node process whose clock is wrong. */
function withClock(offsetMs: number): Record<string, string> {
  const program = `const now = Date.now;
Date.now = () => now() + ${offsetMs};
globalThis.Date = class extends Date { constructor(...given) { given.length ? super(...given) : super(Date.now()); } };`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(program)}` };
}

const [WEBHOOKS, MESSAGES, CUT_INTERVAL_MS] = [100, 100, 3 * SECOND];

t.test("every accepted event reaches a stream, whatever breaks", async (t) => {
  const { settings, db, config, tenant, key, address } = await prepare(t);
  const pageId = newPlatformId();
  await makeChannel({ db, config }, tenant, { platform: "socialapp", pageId });
  const proxy = await startTcpProxy(t, address);
  const cutting = setInterval(proxy.cut, CUT_INTERVAL_MS);
  t.teardown(() => clearInterval(cutting));
  const start = (clock: number) => startWeb(t, { ...settings, ...(clock === 0 ? {} : withClock(clock)) });
  let web = await start(0);
  // The places of a killed process stay taken for some seconds, so each request has another key.
  const keys = [
    key,
    ...(await Promise.all(Array.from({ length: 7 }, () => tenant.createKey("webhooks:manage")))),
  ];
  const headers = keys.map((each) => each.headers);
  const readers = [followStream(t, proxy.url, headers), followJson(t, proxy.url, headers)];
  await until("both read", () => readers.every(({ hasBegun }) => hasBegun()));

  const raw = await connectRawClient(t, config.DATABASE_URL);
  await raw.query("begin");
  const late = toNewEvent(newId("evt"), { clientId: tenant.id, type: "webhook.test", key: null, data: {} });
  await insertEvents(withoutRetries(raw), [late]);

  const clocks = [-4 * SECOND, 60 * SECOND, 0, -4 * SECOND, 60 * SECOND];
  for (let sent = 0; sent < WEBHOOKS; sent++) {
    const body = pageWebhook(
      pageId,
      Array.from({ length: MESSAGES }, (_, index) => `m.${sent}.${index}`),
    );
    const posting = until("the webhook is accepted", async () => (await postWebhook(address, body)) === 200);
    if (sent % 20 === 10) {
      await web.stop("SIGKILL");
      const clock = clocks.shift() as number;
      web = await start(clock);
      if (Math.abs(clock) > MAX_CLOCK_DIFFERENCE_MS) await web.waitForLine("clock.differs");
    }
    await posting;
  }
  await until("later events have arrived", () => readers.every(({ ids }) => ids().size >= 5_000));
  await raw.query("commit");

  const rows = await db.query<{ id: string }>("select id from events where client_id = $1", [tenant.id]);
  t.equal(rows.length, WEBHOOKS * MESSAGES + 1);
  for (const { form, ids } of readers)
    await until(`${form} has every event`, () => rows.every(({ id }) => ids().has(id)));
  const newest = Math.max(...rows.map(({ id }) => timeOfId(id)));
  t.ok(newest <= (await databaseTime(db)).getTime() + MAX_CLOCK_DIFFERENCE_MS, "no id is ahead");
  for (const { form, ids } of readers) t.equal(ids().size, rows.length, `${form} has no other events`);

  t.test("a shutdown ends streams and answers waiting requests", async (t) => {
    clearInterval(cutting);
    const before = readers.map(({ ends }) => ends());
    t.equal(await web.stop(), 0);
    await until("both have ended", () => readers.every(({ ends }, index) => ends() > (before[index] ?? 0)));
  });
});
