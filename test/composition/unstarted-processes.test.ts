import "reflect-metadata";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Test } from "tap";
import t from "tap";
import { container, type DependencyContainer } from "tsyringe";
import { registerDispatcher } from "../../src/composition/dispatcher.ts";
import { registerShared } from "../../src/composition/process.ts";
import { registerScheduler } from "../../src/composition/scheduler.ts";
import { REDIS, ROUTES, resolve, WORKERS } from "../../src/composition/tokens.ts";
import { registerWeb } from "../../src/composition/web/server.ts";
import { describeApi } from "../../src/http/openapi/describe-api.ts";
import { readConfig } from "../../src/runtime/config/config.ts";
import { listen } from "../../src/runtime/http/listen.ts";
import { unconnectedSettings } from "../fixtures/processes/settings.ts";
import { until } from "../fixtures/until.ts";

/** Replaces every server of a process and counts the connections. */
async function startRecorder(t: Test) {
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createServer();
  server.on("connection", (socket) => {
    connections += 1;
    sockets.add(socket);
  });
  await listen(server, 0, "127.0.0.1");
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { host, connections: () => connections };
}

const settingsAt = (host: string) => ({
  ...unconnectedSettings(),
  DATABASE_URL: `postgres://none@${host}/none`,
  JWT_JWKS_URL: `http://${host}/keys`,
  JWT_ISSUER: "https://issuer.example.com",
  JWT_AUDIENCE: "herald",
  AD_PLATFORM_URL: `http://${host}/v1`,
  CHAT_PLATFORM_URL: `http://${host}/v1`,
  PHOTO_PLATFORM_URL: `http://${host}/v1`,
  SOCIAL_PLATFORM_URL: `http://${host}/v1`,
});

const PROCESSES: Record<string, (container: DependencyContainer) => void> = {
  web: registerWeb,
  dispatcher: registerDispatcher,
  scheduler: registerScheduler,
};

const REDIS_URLS: Record<string, (host: string) => string> = {
  "one Redis": (host) => `redis://${host}`,
  "a Redis Cluster": (host) => `redis://${host}?cluster=true`,
};

const openTimers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

function compose(t: Test, name: string, settings: Record<string, string>): DependencyContainer {
  const childContainer = container.createChildContainer();
  registerShared(childContainer, readConfig(settings), name);
  PROCESSES[name]?.(childContainer);
  t.teardown(() => resolve(childContainer, REDIS).disconnect());
  return childContainer;
}

for (const [kind, urlOf] of Object.entries(REDIS_URLS)) {
  for (const name of Object.keys(PROCESSES))
    t.test(`an unstarted ${name} process with ${kind} opens no socket and no timer`, async (t) => {
      const { host, connections } = await startRecorder(t);
      const timers = openTimers();
      const parts = compose(t, name, { ...settingsAt(host), REDIS_URL: urlOf(host) });
      t.ok(resolve(parts, WORKERS).length > 0);
      t.equal(openTimers(), timers);
      await sleep(50);
      t.equal(connections(), 0);
    });

  t.test(`the route table and the OpenAPI document need no connection to ${kind}`, async (t) => {
    const { host, connections } = await startRecorder(t);
    const timers = openTimers();
    const parts = compose(t, "web", { ...settingsAt(host), REDIS_URL: urlOf(host) });
    const routes = resolve(parts, ROUTES);
    t.ok(routes.length > 0);
    t.ok(Object.keys(describeApi(routes, { publicUrl: "https://herald.example" }).paths).length > 0);
    t.equal(openTimers(), timers);
    await sleep(50);
    t.equal(connections(), 0);
  });

  t.test(`the first command connects to ${kind}`, async (t) => {
    const { host, connections } = await startRecorder(t);
    const redis = resolve(compose(t, "web", { ...settingsAt(host), REDIS_URL: urlOf(host) }), REDIS);
    await t.rejects(redis.ping(), "the command fails immediately while Redis is not connected");
    await until("the recorder has a connection", () => connections() > 0);
  });
}
