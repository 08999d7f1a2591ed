import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { SECOND } from "../runtime/durations.ts";
import { packageRoot } from "../runtime/package-root.ts";
import { object, oneOf, type Static, type TSchema, Type } from "../schema/types.ts";
import { createValidator } from "../schema/validate.ts";
import { AD_ACCOUNTS, BUILT_IN_TOKENS, LEADS, PAGES, WABAS } from "./built-in-assets.ts";
import { chatInbound } from "./chat/inbound.ts";
import type { SandboxContext } from "./context.ts";
import { demoBackendOf } from "./demo-backend.ts";
import { DIALOG_PATHS } from "./dialogs/dialog-routes.ts";
import { FAULT_EFFECTS, type Faults, faultSchema, INBOX_PATH } from "./faults.ts";
import { fromJson } from "./graph/json.ts";
import { Reply } from "./graph/node.ts";
import type { Tokens } from "./graph/tokens.ts";
import { MAGIC_VALUES } from "./magic-values.ts";
import { pageInbound } from "./pages/inbound.ts";
import type { Records } from "./server/records.ts";
import { ControlError, type ControlRoute, type SandboxRequest } from "./server/routes.ts";
import { type SandboxSettings, VERSION } from "./settings.ts";
import { WEBHOOK_OBJECTS } from "./webhooks.ts";

export interface ControlParts {
  faults: Faults;
  requests: Records;
  inbox: Records;
  /** The demo client's API key. Without it, the signup demo creates no sessions. */
  demoApiKey: string | undefined;
}

/** Routes for developers. */
export function controlRoutes(
  context: SandboxContext,
  { faults, demoApiKey, ...records }: ControlParts,
): ControlRoute[] {
  const routes = [
    ...faultRoutes(faults, context.tokens),
    ...recordRoutes(context, records),
    ...webhookRoutes(context),
    ...signupDemoRoutes(context, demoApiKey),
  ];
  return [...routes, ...indexRoutes(routes, context.settings)];
}

const FAULTS_PATH = "/_sandbox/faults";

function faultRoutes(faults: Faults, tokens: Tokens): ControlRoute[] {
  const read = jsonReader(faultSchema);
  return [
    {
      method: "POST",
      path: FAULTS_PATH,
      summary: "arms a fault for the next calls or webhooks",
      answer(request) {
        const fault = { times: 1, ...read(request) };
        faults.arm(fault);
        return new Reply(fault, { status: 201 });
      },
    },
    {
      method: "GET",
      path: FAULTS_PATH,
      summary: "lists the armed faults",
      answer: () => new Reply({ data: faults.armed() }),
    },
    {
      method: "DELETE",
      path: FAULTS_PATH,
      summary: "removes all armed faults and restores dead tokens",
      answer() {
        const cleared = faults.armed().length;
        faults.clear();
        tokens.restoreRevoked();
        return new Reply({ cleared });
      },
    },
  ];
}

/** Routes that list what the platforms and the demo client's backend received. */
function recordRoutes(
  context: SandboxContext,
  { requests, inbox }: Record<"requests" | "inbox", Records>,
): ControlRoute[] {
  const { answer } = demoBackendOf(context);
  return [
    {
      method: "GET",
      path: "/_sandbox/requests",
      summary:
        "lists the requests that the platforms received, newest first; `?clear=true` also deletes them",
      answer: (request) => listRecords(requests, request),
    },
    {
      method: "GET",
      path: INBOX_PATH,
      summary:
        "lists the requests that the demo client's backend received, newest first, with their `raw` bodies; `?clear=true` also deletes them",
      answer: (request) => listRecords(inbox, request, { withRaw: true }),
    },
    {
      method: "POST",
      path: INBOX_PATH,
      summary: "accepts every webhook as the demo client's backend, except for a magic value",
      answer,
    },
    {
      method: "POST",
      path: `${INBOX_PATH}/*`,
      summary: "does the same at any path below the inbox",
      answer,
    },
  ];
}

async function listRecords(records: Records, { url }: SandboxRequest, options = {}): Promise<Reply> {
  const listed = records.list(options);
  if (url.searchParams.get("clear") === "true") records.clear();
  return new Reply({ data: await listed });
}

const inboundMessageSchema = object({
  channel: Type.String({ minLength: 1 }),
  from: Type.String({ minLength: 1 }),
  type: Type.String({ minLength: 1 }),
  content: Type.Optional(Type.Unknown()),
});

const webhookSchema = object({
  object: oneOf(WEBHOOK_OBJECTS),
  entry: Type.Array(Type.Object({ id: Type.String() }, { additionalProperties: true }), { minItems: 1 }),
});

/** All platforms that receive messages. Add a new one here. */
const INBOUND_SOURCES = [chatInbound, pageInbound];

/** Routes that send webhooks to the service. */
function webhookRoutes(context: SandboxContext): ControlRoute[] {
  const sources = INBOUND_SOURCES.map((source) => source(context));
  const [readMessage, readWebhook] = [jsonReader(inboundMessageSchema), jsonReader(webhookSchema)];
  return [
    {
      method: "POST",
      path: "/_sandbox/inbound",
      summary:
        "simulates a message to a phone number, page or photo account: `{channel, from, type, content?}`; missing content is generated",
      answer(request) {
        const message = { content: undefined, ...readMessage(request) };
        const source = sources.find(({ hasChannel }) => hasChannel(message.channel));
        if (!source)
          throw new ControlError(
            404,
            `There is no channel ${message.channel}; GET /_sandbox lists the channels`,
          );
        const webhook = source.receive(message);
        return new Reply({ sent: webhook !== undefined && context.webhooks.send(webhook) }, { status: 202 });
      },
    },
    {
      method: "POST",
      path: "/_sandbox/webhook",
      summary: "sends `{object, entry}` to the service as a signed webhook, regardless of subscriptions",
      answer(request) {
        const { object } = readWebhook(request);
        // Sends the raw body, so that every value arrives as the caller wrote it.
        context.webhooks.sendRaw(object, request.body.toString("utf8"));
        return new Reply({ sent: true }, { status: 202 });
      },
    },
  ];
}

const SIGNUP_DEMO_PATH = "/_sandbox/signup";

/** The example that integrators copy, so that the demo shows what it does. */
const PAGE_FILE = "examples/host-page/host-page.html";

const HTML_HEADERS = { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" };

/** A page of a pretended customer that embeds the signup, and the backend of that page. */
const signupDemoRoutes = (context: SandboxContext, demoApiKey: string | undefined): ControlRoute[] => [
  {
    method: "GET",
    path: SIGNUP_DEMO_PATH,
    summary: "shows a page that embeds the signup of the demo client: open it in a browser",
    answer: async () => new Reply(await readFile(join(packageRoot(), PAGE_FILE)), { headers: HTML_HEADERS }),
  },
  {
    method: "POST",
    path: `${SIGNUP_DEMO_PATH}/session`,
    summary: "creates an embed session of the demo client for that page",
    answer: ({ url }) => createSession(context, demoApiKey, url.port),
  },
];

/** Calls the service like the backend of a customer: the API key stays here. */
async function createSession(
  { settings }: SandboxContext,
  demoApiKey: string | undefined,
  port: string,
): Promise<Reply> {
  if (!demoApiKey)
    throw new ControlError(409, "The signup demo needs the demo client's API key: use npm start");
  const answer = await fetch(`${settings.PUBLIC_URL}/api/embed/sessions`, {
    method: "POST",
    headers: { "x-svc-api-key": demoApiKey, "content-type": "application/json" },
    body: JSON.stringify(sessionInput(port)),
    signal: AbortSignal.timeout(10 * SECOND),
  }).catch((error: unknown) => {
    throw new ControlError(502, `The service does not answer at ${settings.PUBLIC_URL}: ${error}`);
  });
  const body = (await answer.json()) as { id?: string; url?: string; message?: string };
  if (!answer.ok) throw new ControlError(502, `The service refused to create a session: ${body.message}`);
  return new Reply({ id: body.id, url: body.url }, { status: 201 });
}

/** The browser may have opened the page under either name of this machine. */
const sessionInput = (port: string) => ({
  allowed_origins: [`http://localhost:${port}`, `http://127.0.0.1:${port}`],
  platforms: ["chatapp", "photoapp", "socialapp"],
  external_ref: "sandbox-demo",
  prefill: {
    business: {
      name: "Sandbox Coffee Ltda",
      email: "coffee@example.com",
      website: "https://coffee.example.com",
    },
    phone: { displayName: "Sandbox Coffee", category: "RESTAURANT" },
  },
});

/** Describes the sandbox to developers: endpoints, faults, magic values, assets and tokens. */
function indexRoutes(routes: readonly ControlRoute[], settings: SandboxSettings): ControlRoute[] {
  const answer = ({ url }: { url: URL }) =>
    new Reply({
      sandbox: "Simulated platforms for development. Nothing here costs money or reaches real people.",
      platforms: `${url.origin}/${VERSION}`,
      app_id: settings.PLATFORM_APP_ID,
      config_id: settings.SIGNUP_CONFIG_ID,
      dialogs: DIALOG_PATHS.map((path) => `${url.origin}${path}`),
      endpoints: routes.map(({ method, path, summary }) => ({ endpoint: `${method} ${path}`, summary })),
      faults: Object.entries(FAULT_EFFECTS).map(([kind, effect]) => ({ kind, effect })),
      magic_values: MAGIC_VALUES,
      ad_accounts: AD_ACCOUNTS.map(({ id, name, imageHash }) => ({
        id: `act_${id}`,
        name,
        image_hash: imageHash,
      })),
      chat_businesses: WABAS.map(({ id, name, numbers }) => ({
        id,
        name,
        numbers: numbers.map((number) => number.id),
      })),
      pages: PAGES,
      leads: LEADS.map(({ id, page_id }) => ({ id, page_id })),
      tokens: Object.entries(BUILT_IN_TOKENS).map(([token, { kind, assets }]) => ({ token, kind, assets })),
    });
  return ["/", "/_sandbox"].map((path) => ({ method: "GET", path, summary: "shows this overview", answer }));
}

/** Parses the body as JSON regardless of its Content-Type, because `curl -d` declares JSON as a form. */
function jsonReader<S extends TSchema>(schema: S): (request: SandboxRequest) => Static<S> {
  const check = createValidator().json(schema);
  return ({ body }) => {
    const value = parseBody(body);
    const problems = check(value);
    if (problems[0]) throw new ControlError(400, problems[0].message, problems);
    return value as Static<S>;
  };
}

function parseBody(body: Buffer): unknown {
  try {
    return fromJson(body.toString("utf8"));
  } catch {
    throw new ControlError(400, "The body is not valid JSON, or is nested too deeply");
  }
}
