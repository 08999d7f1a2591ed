import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../runtime/log.ts";
import type { Worker } from "../runtime/supervise.ts";
import { adKinds } from "./ads/nodes.ts";
import { BUILT_IN_TOKENS } from "./built-in-assets.ts";
import { mediaRoutes } from "./chat/media.ts";
import { chatKinds } from "./chat/nodes.ts";
import type { SandboxContext } from "./context.ts";
import { type ControlParts, controlRoutes } from "./control-routes.ts";
import { dialogRoutes } from "./dialogs/dialog-routes.ts";
import { createEffects } from "./fault-effects.ts";
import { createFaults } from "./faults.ts";
import { createGraph } from "./graph/graph.ts";
import { GraphError } from "./graph/graph-error.ts";
import type { NodeKind } from "./graph/node.ts";
import { createCodes, createTokens } from "./graph/tokens.ts";
import { loginKinds } from "./login.ts";
import { pageKinds } from "./pages/nodes.ts";
import { createRecords } from "./server/records.ts";
import type { SandboxRoute } from "./server/routes.ts";
import { createSandboxServer, type ServerParts } from "./server/server.ts";
import type { SandboxSettings } from "./settings.ts";
import { appKinds, createWebhooks } from "./webhooks.ts";

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

interface Sandbox extends Worker {
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
  const serverParts = {
    ...controlParts,
    tokens: context.tokens,
    effects: createEffects({ tokens: context.tokens, quotaOf: graph.quotaOf, pause }),
    log,
  };
  const server = createSandboxServer({ ...serverParts, graph, routes: allRoutes(context, controlParts) });
  const mediaServer = createSandboxServer({ ...serverParts, graph: NO_GRAPH, routes: mediaRoutes(context) });
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
const NO_GRAPH: ServerParts["graph"] = {
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

interface Timers {
  schedule(milliseconds: number, work: () => void): void;
  /** Cancels all pending work and ignores later calls of `schedule`. */
  stop(): void;
}

/** Timers whose delays are multiplied by `pace`: 0.01 is a hundred times as fast. */
function createTimers(pace: number): Timers {
  const pending = new Set<NodeJS.Timeout>();
  let stopped = false;
  return {
    schedule(milliseconds, work) {
      if (stopped) return; // a call that is still in flight at shutdown must not start new work
      const timer = setTimeout(() => {
        pending.delete(timer);
        work();
      }, milliseconds * pace);
      pending.add(timer);
    },
    stop() {
      stopped = true;
      for (const timer of pending) clearTimeout(timer);
      pending.clear();
    },
  };
}
