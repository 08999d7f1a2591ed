import type { Test } from "tap";
import t from "tap";
import { freePort } from "../../src/local/server-process.ts";
import { createMetrics, metricsServer } from "../../src/runtime/metrics.ts";
import { isBearerToken } from "../../src/security/secret-text.ts";
import { captureLog } from "../fixtures/captured-log.ts";

const fail = (error: unknown) => void t.fail(`the server failed: ${error}`);

interface ServerSettings {
  METRICS_PORT: number | undefined;
  METRICS_TOKEN?: string;
}

function createServer(settings: ServerSettings, name = "web") {
  const { log, lines } = captureLog();
  const { METRICS_TOKEN } = settings;
  const server = metricsServer({
    settings: { METRICS_TOKEN: undefined, HOST: "0.0.0.0", ...settings },
    metrics: createMetrics(name),
    log,
    isAuthorized: (header) => METRICS_TOKEN === undefined || isBearerToken(header, METRICS_TOKEN),
  });
  return { server, lines };
}

/** Starts a server that closes with the test; returns the fields of its log line. */
async function startServer(test: Test, settings: ServerSettings, name?: string) {
  const { server, lines } = createServer(settings, name);
  await server.start?.({ fail });
  test.teardown(() => server.close?.());
  return lines[0] as { host: string; port: number };
}

t.test("a second process on the same machine uses the next free metrics port", async (t) => {
  const METRICS_PORT = await freePort();
  const ports: number[] = [];
  for (const name of ["dispatcher", "scheduler"])
    ports.push((await startServer(t, { METRICS_PORT }, name)).port);
  t.ok((ports[1] as number) > (ports[0] as number));
  const answers = await Promise.all(ports.map((taken) => fetch(`http://127.0.0.1:${taken}/metrics`)));
  const texts = await Promise.all(answers.map((answer) => answer.text()));
  t.match(texts[0], /herald_process_ready\{process="dispatcher"\} 0/);
  t.match(texts[1], /herald_process_ready\{process="scheduler"\} 0/);
});

t.test("the metrics server does not listen without METRICS_PORT", async (t) => {
  const { server, lines } = createServer({ METRICS_PORT: undefined });
  await server.start?.({ fail });
  await server.close?.();
  t.same(lines, []);
});

t.test("without METRICS_TOKEN the metrics server listens on loopback only", async (t) => {
  const { host } = await startServer(t, { METRICS_PORT: await freePort() });
  t.equal(host, "127.0.0.1");
});

t.test("with METRICS_TOKEN the metrics server listens on HOST and requires the token", async (t) => {
  const METRICS_TOKEN = "a-token-of-the-operator";
  const { host, port } = await startServer(t, { METRICS_PORT: await freePort(), METRICS_TOKEN });
  t.equal(host, "0.0.0.0");
  const statusWith = async (authorization?: string) =>
    (await fetch(`http://127.0.0.1:${port}/`, { headers: authorization ? { authorization } : {} })).status;
  t.equal(await statusWith(), 401);
  t.equal(await statusWith("Bearer another-token-of-no-use"), 401);
  t.equal(await statusWith(`Bearer ${METRICS_TOKEN}`), 200);
});
