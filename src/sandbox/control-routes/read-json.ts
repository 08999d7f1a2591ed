import type { Static, TSchema } from "../../schema/types.ts";
import { createValidator } from "../../schema/validate.ts";
import { DoorError } from "../server/error-reply.ts";
import type { DoorRequest } from "../server/route.ts";
import { fromJson } from "../wire/json.ts";

/** Reads a body of this schema, whatever it is declared as: what curl sends by `-d` is JSON too. */
export function jsonReader<S extends TSchema>(schema: S): (request: DoorRequest) => Static<S> {
  const check = createValidator().json(schema);
  return ({ body }) => {
    const value = parsed(body);
    const problems = check(value);
    if (problems[0]) throw new DoorError(400, problems[0].message, problems);
    return value as Static<S>;
  };
}

function parsed(body: Buffer): unknown {
  try {
    return fromJson(body.toString("utf8"));
  } catch {
    throw new DoorError(400, "The body must be JSON, and not nested too deeply");
  }
}
