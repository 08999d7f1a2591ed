import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { listen, trackConnections } from "../runtime/listen.ts";
import type { Log } from "../runtime/log.ts";
import type { Worker } from "../runtime/supervise.ts";
import { adKinds } from "./ads/kinds.ts";
import { chatKinds } from "./chat/kinds.ts";
import { createGraph } from "./graph.ts";
import type { Ground } from "./ground.ts";
import { loginKinds } from "./login/kinds.ts";
import type { NodeKind } from "./node-kind.ts";
import { pageKinds } from "./pages/kinds.ts";
import type { SandboxSettings } from "./settings.ts";
import { createTimers } from "./timers.ts";
import { createTokens } from "./tokens.ts";
import { createWebhooks } from "./webhooks.ts";
import { Reply } from "./wire/call.ts";
import { GraphError } from "./wire/graph-error.ts";
import { toJson } from "./wire/json.ts";
import { readBody, readParams } from "./wire/read-params.ts";
import { BUILT_IN_TOKENS } from "./world.ts";

interface SandboxOptions {
  settings: SandboxSettings;
  /** 0 takes any free one. */
  port: number;
  log: Log;
  /** How fast its time goes: 1 as people see it, less in tests that wait for a review. */
  pace?: number;
}

export interface Sandbox extends Worker {
  /** Its origin, once started. */
  origin(): string;
}

/** The stand-in platforms as one server on loopback. What they know is kept in memory. */
export function createSandbox({ settings, port, log, pace = 1 }: SandboxOptions): Sandbox {
  const timers = createTimers(pace);
  const { PLATFORM_APP_ID: appId, PLATFORM_APP_SECRET: appSecret } = settings;
  const ground: Ground = {
    settings,
    tokens: createTokens({ appId, appSecret, builtIn: BUILT_IN_TOKENS }),
    webhooks: createWebhooks({ settings, log, later: timers.later }),
    later: timers.later,
  };
  const graph = createGraph(allKinds(ground), ground);
  const server = createServer(async (request, response) => {
    const reply = await answer(request).catch((error) => refusal(error, log));
    send(response, reply);
  });
  const connections = trackConnections(server);
  const origin = () => `http://localhost:${(server.address() as AddressInfo).port}`;

  async function answer(request: IncomingMessage): Promise<Reply> {
    const url = new URL(request.url ?? "/", origin());
    const body = await readBody(request);
    const params = await readParams(url.searchParams, request.headers["content-type"], body);
    const { method = "GET", headers } = request;
    return graph({ method, url, authorization: headers.authorization, params });
  }

  return {
    name: "sandbox",
    origin,
    async start({ fail }) {
      await listen(server, port, "127.0.0.1");
      server.on("error", fail);
    },
    async close() {
      timers.stop();
      if (server.listening) await connections.close();
    },
  };
}

/** Everything that can be asked for. */
const allKinds = (ground: Ground): NodeKind[] =>
  [loginKinds, adKinds, chatKinds, pageKinds].flatMap((kinds) => kinds(ground));

function refusal(error: unknown, log: Log): Reply {
  if (error instanceof GraphError)
    return new Reply(error.envelope(), { status: error.status, headers: error.headers });
  log.error("sandbox.fault", { err: error });
  return new Reply(new GraphError(1, "An unknown error occurred").envelope(), { status: 500 });
}

function send(response: ServerResponse, { status, headers, body }: Reply): void {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(toJson(body));
  response.writeHead(status, {
    "content-type": "application/json; charset=UTF-8",
    "content-length": bytes.length,
    ...headers,
  });
  response.end(bytes);
}
