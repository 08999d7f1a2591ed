import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../runtime/logging/log.ts";
import type { Worker } from "../runtime/supervise.ts";
import { adKinds } from "./ads/kinds.ts";
import { appKinds } from "./app/kinds.ts";
import { BUILT_IN_TOKENS } from "./built-in-assets.ts";
import { chatKinds } from "./chat/kinds.ts";
import { mediaRoutes } from "./chat/media/download-route.ts";
import type { SandboxContext } from "./context.ts";
import { type ControlParts, controlRoutes } from "./control-routes/control-routes.ts";
import { dialogRoutes } from "./dialogs/dialog-routes.ts";
import { createEffects } from "./faults/effects.ts";
import { createFaults } from "./faults/faults.ts";
import { createGraph } from "./graph.ts";
import { createCodes } from "./login/codes.ts";
import { loginKinds } from "./login/kinds.ts";
import { createTokens } from "./login/tokens.ts";
import type { NodeKind } from "./node-kind.ts";
import { pageKinds } from "./pages/kinds.ts";
import { createRecords } from "./records/records.ts";
import { createListener } from "./server/listener.ts";
import { createLoopbackServer } from "./server/loopback-server.ts";
import { createRequestHandler } from "./server/request-handler.ts";
import type { SandboxRoute } from "./server/route.ts";
import type { SandboxSettings } from "./settings.ts";
import { createTimers } from "./timers.ts";
import { createWebhooks } from "./webhooks/webhooks.ts";

interface SandboxOptions {
  settings: SandboxSettings;
  /** 0 selects any free port. */
  port: number;
  log: Log;
  /** Creates the sessions of the signup demo. */
  demoApiKey?: string | undefined;
  /** Factor on the sandbox's delays: 1 is real time, less speeds up tests that wait for a review. */
  pace?: number;
  /** Current time in milliseconds; decides when codes and tokens expire. */
  now?: () => number;
}

export interface Sandbox extends Worker {
  /** The server's origin; valid after start. */
  origin(): string;
}

/** The simulated platforms as one server on loopback. Their state is kept in memory. */
export function createSandbox(options: SandboxOptions): Sandbox {
  const { settings, port, log, demoApiKey, pace = 1, now = Date.now } = options;
  const timers = createTimers(pace);
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // one listener per delayed call, which is no leak
  const faults = createFaults();
  const { PLATFORM_APP_ID: appId, PLATFORM_APP_SECRET: appSecret } = settings;
  const context: SandboxContext = {
    settings,
    tokens: createTokens({ appId, appSecret, builtIn: BUILT_IN_TOKENS }),
    codes: createCodes({ now }),
    now,
    webhooks: createWebhooks({ settings, faults, log, schedule: timers.schedule }),
    schedule: timers.schedule,
  };
  const graph = createGraph(allKinds(context), context);
  const controlParts = { faults, requests: createRecords(), inbox: createRecords(), demoApiKey };
  const pause = (milliseconds: number) => sleepUnlessClosed(closing.signal, milliseconds);
  const handleRequest = createRequestHandler({
    ...controlParts,
    routes: allRoutes(context, controlParts),
    graph,
    tokens: context.tokens,
    effects: createEffects({ tokens: context.tokens, quotaOf: graph.quotaOf, pause }),
    log,
  });
  const server = createLoopbackServer(createListener(handleRequest, log));
  return {
    name: "sandbox",
    origin: () => `http://localhost:${server.port()}`,
    async start({ fail }) {
      await server.start(port, fail);
      log.info("sandbox.listening", { port: server.port() });
    },
    async close() {
      timers.stop();
      closing.abort();
      await server.close();
    },
  };
}

const allKinds = (context: SandboxContext): NodeKind[] =>
  [appKinds, loginKinds, adKinds, chatKinds, pageKinds].flatMap((kinds) => kinds(context));

/** Everything outside the graph. */
const allRoutes = (context: SandboxContext, controlParts: ControlParts): SandboxRoute[] => [
  ...dialogRoutes(context),
  ...mediaRoutes(context),
  ...controlRoutes(context, controlParts),
];

/** Closing the sandbox ends the sleep early: a delayed call must not hold up the shutdown. */
const sleepUnlessClosed = (closeSignal: AbortSignal, milliseconds: number): Promise<void> =>
  sleep(milliseconds, undefined, { signal: closeSignal }).catch(() => {});
