import t from "tap";
import { freePort } from "../../../src/local/server-process.ts";
import { createMetrics } from "../../../src/runtime/metrics/metrics.ts";
import { metricsServer } from "../../../src/runtime/metrics/metrics-server.ts";
import { captureLog } from "../../fixtures/captured-log.ts";

const fail = (error: unknown) => void t.fail(`the server failed: ${error}`);

t.test("a second process on the same machine uses the next free metrics port", async (t) => {
  const port = await freePort();
  const { log, lines } = captureLog();
  for (const name of ["dispatcher", "scheduler"]) {
    const server = metricsServer({ METRICS_PORT: port, HOST: "127.0.0.1" }, createMetrics(name), log);
    await server.start?.({ fail });
    t.teardown(() => server.close?.());
  }
  const ports = lines.map((line) => line.port as number);
  t.equal(ports.length, 2);
  t.ok((ports[1] as number) > (ports[0] as number));
  const answers = await Promise.all(ports.map((taken) => fetch(`http://127.0.0.1:${taken}/metrics`)));
  const texts = await Promise.all(answers.map((answer) => answer.text()));
  t.match(texts[0], /herald_process_ready\{process="dispatcher"\} 0/);
  t.match(texts[1], /herald_process_ready\{process="scheduler"\} 0/);
});

t.test("the metrics server does not listen without METRICS_PORT", async (t) => {
  const { log, lines } = captureLog();
  const server = metricsServer({ METRICS_PORT: undefined, HOST: "127.0.0.1" }, createMetrics("web"), log);
  await server.start?.({ fail });
  await server.close?.();
  t.same(lines, []);
});
