import type { SandboxRoute } from "../server/route.ts";

/** A route for developers. GET /_sandbox lists its summary. */
export interface ControlRoute extends SandboxRoute {
  summary: string;
}
