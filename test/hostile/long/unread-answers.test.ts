import { existsSync } from "node:fs";
import t from "tap";
import { SECOND } from "../../../src/runtime/durations.ts";
import { checkAnswer } from "../../fixtures/hostile/answers.ts";
import { countConnections } from "../../fixtures/hostile/process-state.ts";
import { watchProcessorShare } from "../../fixtures/hostile/processor-share.ts";
import { openSockets, repeatPlan, requestHead } from "../../fixtures/hostile/raw-sockets.ts";
import { startHostileService } from "../../fixtures/hostile/service.ts";
import { until } from "../../fixtures/until.ts";

const SOCKETS = 240;
/** The connections of the probes and of this test. */
const MAX_OTHERS = 20;
/** The service waits 30 s for a caller that does not read. */
const MAX_OPEN_MS = 45 * SECOND;

t.test("callers who do not read their answers are disconnected", async (t) => {
  const service = await startHostileService(t, { MAX_CONNECTIONS_PER_ADDRESS: "0" });
  const connections = () => countConnections(Number(new URL(service.address).port));
  const head = requestHead("GET /api/openapi.json").repeat(30);
  await service.underProbes(t, `${SOCKETS} connections that do not read`, async () => {
    const processorShare = watchProcessorShare();
    const startedAt = performance.now();
    const sockets = openSockets(t, service.address, repeatPlan(SOCKETS, { head, ignoresAnswers: true }));
    await sockets.settled();
    await checkAnswer(t, "/readyz", [200], () => service.call("GET", "/readyz"));
    const isOver = () =>
      connections() < MAX_OTHERS || performance.now() - startedAt > MAX_OPEN_MS / processorShare();
    await until("the connections are closed, or the time is over", isOver);
    if (existsSync("/proc/net/tcp")) t.ok(connections() < MAX_OTHERS, `${connections()} are still open`);
    await sockets.stop();
  });
  const { child } = service.web;
  t.equal(child.exitCode ?? child.signalCode, null, "web is still running");
});
