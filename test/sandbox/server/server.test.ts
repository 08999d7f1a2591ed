import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import t from "tap";
import { createLog } from "../../../src/runtime/log.ts";
import { createSandbox } from "../../../src/sandbox/sandbox.ts";
import { SANDBOX_SETTINGS } from "../../fixtures/sandbox/sandbox.ts";

const log = createLog({ LOG_LEVEL: "silent", LOG_FORMAT: "json", process: "sandbox" });

t.test("a sandbox whose port is in use at one address listens at neither", async (t) => {
  const other = createServer().listen(0, "::1");
  const isSupported = await Promise.race([
    once(other, "listening").then(() => true),
    once(other, "error").then(() => false),
  ]);
  if (!isSupported) return t.pass("this machine has no IPv6");
  t.teardown(() => other.close());
  const { port } = other.address() as AddressInfo;
  const sandbox = createSandbox({
    ...{ settings: SANDBOX_SETTINGS, port, mediaPort: 0, log, pace: 1, now: Date.now },
    ...{ demoApiKey: undefined, codeLifetimeMs: undefined },
  });
  t.teardown(() => sandbox.close?.());
  await t.rejects(async () => sandbox.start?.({ fail: () => {} }), { code: "EADDRINUSE" });
  const successor = createServer().listen(port, "127.0.0.1");
  await once(successor, "listening");
  successor.close();
});
