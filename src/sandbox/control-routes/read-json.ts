import type { Static, TSchema } from "../../schema/types.ts";
import { createValidator } from "../../schema/validate.ts";
import { ControlError } from "../server/error-reply.ts";
import type { SandboxRequest } from "../server/route.ts";
import { fromJson } from "../wire/json.ts";

/** Parses the body as JSON regardless of its Content-Type, because `curl -d` declares JSON as a form. */
export function jsonReader<S extends TSchema>(schema: S): (request: SandboxRequest) => Static<S> {
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
