import type { ServerResponse } from "node:http";
import t from "tap";
import { startBackend } from "../../fixtures/events/backends.ts";
import { configureWebhook, makeEvents } from "../../fixtures/events/events.ts";
import { startDispatcher } from "../../fixtures/processes/dispatcher.ts";
import { makeTenant } from "../../fixtures/tenants/tenants.ts";
import { until } from "../../fixtures/until.ts";

t.test("many concurrent calls cause no leak warning of the runtime", async (t) => {
  const warnings: string[] = [];
  const keep = ({ message }: Error) => void warnings.push(message);
  process.on("warning", keep);
  t.teardown(() => process.off("warning", keep));
  const held: ServerResponse[] = [];
  const backend = await startBackend(t, (_, response) => held.push(response));
  const dispatcher = await startDispatcher(t);
  const tenant = await makeTenant(dispatcher);
  await configureWebhook(dispatcher, tenant, { url: backend.url });
  await makeEvents(dispatcher, tenant, ...Array.from({ length: 20 }, () => ({})));
  await until("all calls are open", () => held.length === 20);
  for (const response of held) response.end();
  t.same(warnings, []);
});
