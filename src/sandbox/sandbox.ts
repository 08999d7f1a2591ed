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
import { createRequestHandler, type RequestHandlerParts } from "./server/request-handler.ts";
import type { SandboxRoute } from "./server/route.ts";
import type { SandboxSettings } from "./settings.ts";
import { createTimers } from "./timers.ts";
import { createWebhooks } from "./webhooks/webhooks.ts";
import { GraphError } from "./wire/graph-error.ts";

interface SandboxOptions {
  settings: SandboxSettings;
  /** 0 selects any free port. */
  port: number;
  /** The port that serves media; 0 selects any free port. */
  mediaPort: number;
  log: Log;
  /** Creates the sessions of the signup demo. */
  demoApiKey?: string | undefined;
  /** Factor on the sandbox's delays: 1 is real time, less speeds up tests that wait for a review. */
  pace?: number;
  /** Current time in milliseconds; decides when codes and tokens expire. */
  now?: () => number;
  /** How long the code of a dialog is valid. */
  codeLifetimeMs?: number | undefined;
}

export interface Sandbox extends Worker {
  /** The server's origin; valid after start. */
  origin(): string;
  /** The origin of the URLs of media; valid after start. */
  mediaOrigin(): string;
}

/** The simulated platforms on loopback: a server for all calls and one for media. Their state is kept in memory. */
export function createSandbox(options: SandboxOptions): Sandbox {
  const { settings, port, mediaPort, log, demoApiKey, pace = 1, now = Date.now, codeLifetimeMs } = options;
  const timers = createTimers(pace);
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // one listener per delayed call, which is no leak
  const faults = createFaults();
  const { PLATFORM_APP_ID: appId, PLATFORM_APP_SECRET: appSecret } = settings;
  const context: SandboxContext = {
    settings,
    tokens: createTokens({ appId, appSecret, builtIn: BUILT_IN_TOKENS }),
    codes: createCodes({ now, lifetimeMs: codeLifetimeMs }),
    now,
    webhooks: createWebhooks({ settings, faults, log, schedule: timers.schedule }),
    schedule: timers.schedule,
    mediaOrigin: () => `http://localhost:${mediaServer.port()}`,
  };
  const graph = createGraph(allKinds(context), context);
  const controlParts = { faults, requests: createRecords(), inbox: createRecords(), demoApiKey };
  const pause = (milliseconds: number) => sleepUnlessClosed(closing.signal, milliseconds);
  const handlerParts = {
    ...controlParts,
    tokens: context.tokens,
    effects: createEffects({ tokens: context.tokens, quotaOf: graph.quotaOf, pause }),
    log,
  };
  const serve = (parts: Pick<RequestHandlerParts, "graph" | "routes">) =>
    createLoopbackServer(createListener(createRequestHandler({ ...handlerParts, ...parts }), log));
  const server = serve({ graph, routes: allRoutes(context, controlParts) });
  const mediaServer = serve({ graph: NO_GRAPH, routes: mediaRoutes(context) });
  return {
    name: "sandbox",
    origin: () => `http://localhost:${server.port()}`,
    mediaOrigin: context.mediaOrigin,
    async start({ fail }) {
      await server.start(port, fail);
      await mediaServer.start(mediaPort, fail);
      log.info("sandbox.listening", { port: server.port(), media_port: mediaServer.port() });
    },
    async close() {
      timers.stop();
      closing.abort();
      await Promise.all([server.close(), mediaServer.close()]);
    },
  };
}

const allKinds = (context: SandboxContext): NodeKind[] =>
  [appKinds, loginKinds, adKinds, chatKinds, pageKinds].flatMap((kinds) => kinds(context));

/** The media server has files only. */
const NO_GRAPH: RequestHandlerParts["graph"] = {
  answer() {
    throw new GraphError(100, "There is no such file", { status: 404 });
  },
};

/** Everything outside the graph, except media. */
const allRoutes = (context: SandboxContext, controlParts: ControlParts): SandboxRoute[] => [
  ...dialogRoutes(context),
  ...controlRoutes(context, controlParts),
];

/** Closing the sandbox ends the sleep early: a delayed call must not hold up the shutdown. */
const sleepUnlessClosed = (closeSignal: AbortSignal, milliseconds: number): Promise<void> =>
  sleep(milliseconds, undefined, { signal: closeSignal }).catch(() => {});
