import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { SECOND } from "../../runtime/durations.ts";
import { packageRoot } from "../../runtime/package-root.ts";
import type { SandboxContext } from "../context.ts";
import { ControlError } from "../server/error-reply.ts";
import { Reply } from "../wire/call.ts";
import type { ControlRoute } from "./control-route.ts";

export const SIGNUP_DEMO_PATH = "/_sandbox/signup";

/** The example that integrators copy, so that the demo shows what it does. */
const PAGE_FILE = "examples/host-page/host-page.html";

const HTML_HEADERS = { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" };

/** A page of a pretended customer that embeds the signup, and the backend of that page. */
export const signupDemoRoutes = (context: SandboxContext, demoApiKey: string | undefined): ControlRoute[] => [
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
