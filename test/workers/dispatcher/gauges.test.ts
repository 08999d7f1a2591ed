import type { ServerResponse } from "node:http";
import t from "tap";
import { freePort } from "../../../src/local/server-process.ts";
import { SECOND } from "../../../src/runtime/durations.ts";
import { startBackend } from "../../fixtures/events/backends.ts";
import { configureWebhook, makeEvents } from "../../fixtures/events/events.ts";
import { updateRow } from "../../fixtures/messages/messages.ts";
import { startDispatcher } from "../../fixtures/processes/dispatcher.ts";
import { makeChannel } from "../../fixtures/tenants/channels.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

t.test("a dispatcher's metrics report the queue, slots, attempts and breakers", async (t) => {
  const settings = { METRICS_PORT: String(await freePort()), DISPATCHER_CONCURRENCY: "1" };
  const dispatcher = await startDispatcher(t, { settings, deadline: 30 * SECOND });
  const { port } = dispatcher.lines.find(({ event }) => event === "metrics.listening") ?? {};
  const address = `http://127.0.0.1:${port}/metrics`;
  /** Returns the sum of a metric's samples that have all these labels; undefined when there is none. */
  const read = async (name: string, labels: Record<string, string> = {}) => {
    const lines = (await (await fetch(address)).text()).split("\n");
    const marks = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    const found = lines.filter((line) => line.startsWith(`${name}{`) && marks.every((m) => line.includes(m)));
    return found.length === 0
      ? undefined
      : found.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  };
  const inEvents = { stream: "{18}:events" };
  const figures = async () => ({
    depth: await read("herald_queue_depth", inEvents),
    oldest: await read("herald_queue_oldest_due_seconds", inEvents),
    inFlight: await read("herald_queue_in_flight", inEvents),
    slots: await read("herald_dispatcher_slots_used"),
  });
  const clientAt = async (url: string) => {
    const tenant = await makeTenant(dispatcher);
    await configureWebhook(dispatcher, tenant, { url });
    return tenant;
  };

  await until("every stream is measured", async () => (await read("herald_queue_depth")) !== undefined);
  t.same(await figures(), { depth: 0, oldest: 0, inFlight: 0, slots: 0 });
  for (const stream of ["{18}:events", "{18}:bulk"]) t.equal(await read("herald_queue_depth", { stream }), 0);
  t.equal(await read("herald_breakers"), 0);

  const channels = (status: string) => read("herald_channels", { platform: "socialapp", status });
  t.equal(await channels("needs_reauth"), 0);
  const [owner, another] = [await makeTenant(dispatcher), await makeTenant(dispatcher)];
  await makeChannel(dispatcher, owner, { platform: "socialapp" });
  const lost = await makeChannel(dispatcher, another, { platform: "socialapp" });
  await updateRow(dispatcher, "channels", { id: lost, status: "needs_reauth" });
  await until("the channels of all clients are counted", async () => (await channels("needs_reauth")) === 1);
  t.equal(await channels("connected"), 1);
  t.equal(await read("herald_postgres_up"), 1);

  // With one slot, the second delivery waits until the first is answered.
  const held: ServerResponse[] = [];
  let isSlow = true;
  const slow = await startBackend(t, (_, response) => (isSlow ? held.push(response) : response.end()));
  await makeEvents(dispatcher, await clientAt(slow.url), {}, {});
  await until("one delivery is in flight, the other waits", async () => {
    const { oldest, inFlight, slots } = await figures();
    return (oldest as number) > 0 && inFlight === 1 && slots === 1;
  });
  isSlow = false;
  for (const response of held) response.end();
  await until(
    "both are delivered",
    async () => (await read("herald_deliveries_total", { state: "delivered" })) === 2,
  );
  t.equal(await read("herald_delivery_attempts_total", { outcome: "delivered" }), 2);
  t.equal(
    await read("herald_delivery_attempt_duration_seconds_count"),
    await read("herald_delivery_attempts_total"),
    "each attempt has a duration",
  );

  const failing = await startBackend(t, (_, response) => response.writeHead(500).end());
  await makeEvents(dispatcher, await clientAt(failing.url), ...Array.from({ length: 5 }, () => ({})));
  await until("the breaker is open or half-open", async () => (await read("herald_breakers")) === 1);
  const refusedAttempts = () => read("herald_delivery_attempts_total", { outcome: "refused" });
  await until("every attempt is counted", async () => ((await refusedAttempts()) ?? 0) >= 5);
  await until("the queue is empty", async () => {
    const { depth, inFlight, slots } = await figures();
    return depth === 0 && inFlight === 0 && slots === 0;
  });
});
