import type { Log } from "../../runtime/logging/log.ts";
import { Reply } from "../wire/call.ts";
import { GraphError } from "../wire/graph-error.ts";

/** An error of a control route, worded for developers. The simulated platforms throw GraphErrors instead. */
export class ControlError extends Error {
  readonly status: number;
  readonly details: readonly unknown[];

  constructor(status: number, message: string, details: readonly unknown[] = []) {
    super(message);
    this.name = "ControlError";
    this.status = status;
    this.details = details;
  }
}

export const graphErrorReply = (error: GraphError): Reply =>
  new Reply(error.envelope(), { status: error.status, headers: error.headers });

/** Converts any thrown error into a reply. */
export function errorReply(error: unknown, log: Log): Reply {
  if (error instanceof GraphError) return graphErrorReply(error);
  if (error instanceof ControlError) {
    const { message, details, status } = error;
    return new Reply({ error: { message, ...(details.length > 0 ? { details } : {}) } }, { status });
  }
  log.error("sandbox.request_failed", { err: error });
  return new Reply(new GraphError(1, "An unknown error occurred").envelope(), { status: 500 });
}
