import type { SandboxRoute } from "../server/route.ts";

/** A door for developers says in the index what it is for. */
export interface ControlRoute extends SandboxRoute {
  summary: string;
}
