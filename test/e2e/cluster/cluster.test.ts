import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import t, { type Test } from "tap";
import { freePort } from "../../../src/local/server-process.ts";
import type { Fields } from "../../../src/runtime/log.ts";
import { createApiCall, productRoutes } from "../../fixtures/http/api.ts";
import { startProcess } from "../../fixtures/processes/processes.ts";
import { testSettings } from "../../fixtures/processes/settings.ts";
import { untilAnyBlocked } from "../../fixtures/servers/lock-waits.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { until } from "../../fixtures/until.ts";

const METRICS_TOKEN = "a-token-of-the-operator";
/** Less than the 15 s after which web closes all connections. */
const MAX_STOP_MS = 12_000;

/** Resolves once the request is written; a connection that is kept alive could belong to the silent fork. */
async function sendOnNewConnection(
  t: Test,
  port: number,
  path: string,
  headers: Record<string, string> = {},
): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  socket.on("error", () => {});
  await once(socket, "connect");
  const lines = Object.entries({ host: "127.0.0.1", ...headers }).map(([name, value]) => `${name}: ${value}`);
  const text = [`GET ${path} HTTP/1.1`, ...lines, "", ""].join("\r\n");
  await new Promise((resolve) => socket.write(text, resolve));
  return socket;
}

t.test("the three processes", async (t) => {
  const port = await freePort();
  const metricsPort = String(await freePort());
  const overrides = { PORT: String(port), WEB_CONCURRENCY: "2", METRICS_TOKEN, METRICS_PORT: metricsPort };
  const settings = await testSettings(t, { ...overrides, CRON_MAINTENANCE: "* * * * * *" });
  const [web, dispatcher, scheduler] = [
    startProcess(t, "web", settings),
    startProcess(t, "dispatcher", settings),
    startProcess(t, "scheduler", settings),
  ] as const;
  await until("ready", () => web.lines().find((line) => line.workers === "watchdog,metrics,forks"));
  const call = createApiCall(`http://127.0.0.1:${port}`, productRoutes());
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
  const count = (event: string) => web.lines().filter((line) => line.event === event).length;

  t.test("web and its forks have a watchdog", async () => {
    await until("three watchdogs", () => {
      const isWatched = ({ event, workers }: Fields) =>
        event === "process.ready" && String(workers).startsWith("watchdog,");
      return web.lines().filter(isWatched).length === 3;
    });
  });

  t.test("forks share a port and metrics", async (t) => {
    for (let count = 0; count < 20; count++) await call("GET", "/healthz");
    const health = /herald_http_requests_total\{[^}]*route="\/healthz"[^}]*\} (\d+)/;
    // A fork may count its last request after the reply.
    const untilCounted = (where: string, readMetrics: () => Promise<string>) =>
      until(`${where} counts 20 requests`, async () => health.exec(await readMetrics())?.[1] === "20");
    await untilCounted("any fork", async () => (await call("GET", "/metrics", { headers })).text);
    const listeningPort = web.lines().find((line) => line.event === "metrics.listening")?.port;
    await untilCounted("their parent", async () =>
      (await fetch(`http://127.0.0.1:${listeningPort}/`, { headers })).text(),
    );
    const { text } = await call("GET", "/metrics", { headers });
    t.match(
      text,
      /^herald_redis_writable\{process="web"\} 1$/m,
      "the smallest value of all forks, not the sum",
    );
    t.match(text, /^herald_postgres_up\{process="web"\} 1$/m);
    t.match(text, /^herald_postgres_connections_max\{process="web"\} 20$/m, "the sum of both pools");
    t.equal(web.children().length, 2);
  });

  t.test(
    "a fork that dies is replaced, and the metrics survive its death while they are collected",
    async (t) => {
      const [runningFork = 0, silent = 0] = web.children();
      process.kill(silent, "SIGSTOP");
      // The silent fork takes one connection at most; the others reach the fork that still runs.
      for (let count = 0; count < 4; count++) await sendOnNewConnection(t, port, "/metrics", headers);
      // Its answers prove that it has begun the requests before them.
      for (let count = 0; count < 2; count++)
        await once(await sendOnNewConnection(t, port, "/healthz"), "data");
      process.kill(runningFork, "SIGKILL");
      await web.waitForLine("fork.exited");
      process.kill(silent, "SIGCONT");
      await until("the fork is replaced", () => count("http.listening") === 3);
      t.equal((await call("GET", "/metrics", { headers })).status, 200);
    },
  );

  t.test("they stop cleanly on SIGTERM despite a request and an idle connection", async (t) => {
    const idle = connect(port, "127.0.0.1");
    t.teardown(() => idle.destroy());
    await once(idle, "connect");
    t.equal((await call("GET", "/readyz")).status, 200);
    await dispatcher.waitForLine("process.ready");
    // On a slow machine a tick may find the last run unfinished.
    await scheduler.waitForLine("cron.ran", { job: "maintenance", outcome: "ok" });
    const forks = web.children();
    t.equal(forks.length, 2);
    const raw = await connectRawClient(t, settings.DATABASE_URL as string);
    await raw.query("begin; lock table users");
    const json = { email: "a@example.com", password: "a password" };
    const answered = call("POST", "/api/auth/login", { json });
    await untilAnyBlocked(raw);
    let startedAt = Date.now();
    web.child.kill();
    await until("web and its forks are stopping", () => count("process.stopping") === 3);
    await raw.query("rollback");
    t.ok([401, 503].includes((await answered).status), "a request in progress is answered");
    for (const process of [web, dispatcher, scheduler]) {
      // A second signal would kill web if it came after the end of its shutdown.
      t.equal(await (process === web ? web.ended() : process.stop()), 0);
      t.ok(Date.now() - startedAt < MAX_STOP_MS);
      startedAt = Date.now();
      t.match(process.lines().at(-1), { event: "process.stopped", clean: true });
      t.equal(process.stderr(), "");
    }
    for (const pid of forks) t.throws(() => process.kill(pid, 0), { code: "ESRCH" });
    const stopped = web.lines().filter(({ event }) => event === "process.stopped");
    t.match(stopped, [{ clean: true }, { clean: true }, { clean: true }], "the forks too");
  });
});

t.test("wrong settings stop a process immediately with one message", async (t) => {
  const web = startProcess(t, "web", { PORT: "http", REDIS_URL: "redis://x" });
  t.equal(await web.ended(), 1);
  t.match(web.stderr(), /^herald web cannot start, 4 wrong settings:\n {2}- PORT must be/);
  t.same(web.lines(), []);
});

t.test("a web process logs that its port is in use", async (t) => {
  const first = createServer().listen(0, "127.0.0.1");
  t.teardown(() => first.close());
  await once(first, "listening");
  const { port } = first.address() as { port: number };
  const settings = await testSettings(t, { PORT: String(port) });
  const second = startProcess(t, "web", { ...settings, WEB_CONCURRENCY: "2" });
  t.match(await second.waitForLine("process.failed"), { worker: "http", err_code: "EADDRINUSE" });
  t.equal(await second.ended(), 1);
});
