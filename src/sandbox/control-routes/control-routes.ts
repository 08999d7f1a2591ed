import type { SandboxContext } from "../context.ts";
import type { Faults } from "../faults/faults.ts";
import type { Records } from "../records/records.ts";
import type { ControlRoute } from "./control-route.ts";
import { faultRoutes } from "./faults.ts";
import { indexRoutes } from "./index-route.ts";
import { recordRoutes } from "./records.ts";
import { signupDemoRoutes } from "./signup-demo.ts";
import { webhookRoutes } from "./webhooks.ts";

export interface ControlParts {
  faults: Faults;
  requests: Records;
  inbox: Records;
  /** The demo client's API key. Without it, the signup demo creates no sessions. */
  demoApiKey: string | undefined;
}

export function controlRoutes(
  context: SandboxContext,
  { faults, demoApiKey, ...records }: ControlParts,
): ControlRoute[] {
  const routes = [
    ...faultRoutes(faults, context.tokens),
    ...recordRoutes(records),
    ...webhookRoutes(context),
    ...signupDemoRoutes(context, demoApiKey),
  ];
  return [...routes, ...indexRoutes(routes, context.settings)];
}
