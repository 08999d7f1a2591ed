import t from "tap";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { createDatabase } from "../../../src/store/database/database.ts";
import { insertBacklog } from "../../fixtures/events/backlog.ts";
import { answerWith, startClientWithBackend } from "../../fixtures/events/client-backend.ts";
import { times } from "../../fixtures/events/deliveries.ts";
import { startDispatcher } from "../../fixtures/processes/dispatcher.ts";
import { startProcess } from "../../fixtures/processes/processes.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { until } from "../../fixtures/until.ts";

const SLOTS = 10;
const EVENTS = 300;

t.test("two dispatchers share the rows; a killed one's calls alone are repeated", async (t) => {
  const settings = await testSettings(t, {
    PRIVATE_DESTINATIONS: "127.0.0.0/8",
    DISPATCHER_CONCURRENCY: String(SLOTS),
  });
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  const clients = await Promise.all(times(5, () => startClientWithBackend(t, { db, config })));
  const killed = startProcess(t, "dispatcher", settings);
  await Promise.all([killed.waitForLine("process.ready"), startDispatcher(t, { config })]);
  const received = () => clients.flatMap(({ backend }) => backend.received.map(({ id }) => id));
  const countReceived = () => clients.reduce((sum, { backend }) => sum + backend.received.length, 0);
  // The backends pause by themselves: a probe that finds half of the events received may find all of them.
  for (const { backend } of clients)
    backend.answer = (response, event) => {
      if (countReceived() <= EVENTS / 2) return answerWith(200)(response, event);
      for (const each of clients) each.backend.pauseAnswers();
      backend.answer(response, event);
    };
  const ids = (
    await Promise.all(clients.map(({ client }) => insertBacklog(db, client.id, EVENTS / clients.length)))
  ).flat();
  const openCalls = () => clients.reduce((sum, { backend }) => sum + backend.openRequests(), 0);
  const countRows = async () => {
    const [row] = await db.query<{ left: number; workers: number }>(
      "select count(*)::integer as left, count(distinct worker_id)::integer as workers from delivery_queue",
    );
    return row as { left: number; workers: number };
  };
  await until("both have open calls, and all other outcomes are written", async () => {
    const calls = openCalls();
    const { left, workers } = await countRows();
    return workers === 2 && calls > SLOTS && left === EVENTS - (countReceived() - calls);
  });
  t.equal(new Set(received()).size, received().length, "none is delivered twice");
  await killed.stop("SIGKILL");
  for (const { backend } of clients) {
    backend.answer = answerWith(200);
    backend.release();
  }
  await until(
    "all events have arrived, and all outcomes are written",
    async () => (await countRows()).left === 0,
  );
  const repeated = received().length - ids.length;
  t.equal(new Set(received()).size, EVENTS);
  t.ok(repeated <= SLOTS, `${repeated} were delivered twice`);
});
