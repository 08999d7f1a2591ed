import t from "tap";
import { bodySchemaOf, isMediaReply } from "../../src/http/route.ts";
import { createValidator } from "../../src/schema/validate.ts";
import { productRoutes } from "../fixtures/http/api.ts";

t.test(
  "every schema of every route compiles, although processes compile them only on first use",
  async (t) => {
    const { json, strings } = createValidator();
    for (const route of productRoutes()) {
      const { method, path, params, query, reply } = route;
      const body = bodySchemaOf(route);
      const checks = [
        ...[params, query].flatMap((schema) => (schema ? [strings(schema, "the parameters")] : [])),
        ...(body ? [json(body)] : []),
      ];
      t.doesNotThrow(() => {
        for (const check of checks) check({ unknown: {} });
        // The product checks no replies: one of the two validators is enough.
        if (reply && !isMediaReply(reply)) json(reply)({ unknown: {} }, true);
      }, `${method} ${path}`);
    }
  },
);

interface TextSchema {
  pattern?: string;
  format?: string;
  maxLength?: number;
}

/** Finds the schemas of texts with a pattern or a format at any depth. */
function textSchemasIn(value: unknown): TextSchema[] {
  if (typeof value !== "object" || value === null) return [];
  const { pattern, format } = value as Record<string, unknown>;
  const isText = typeof pattern === "string" || typeof format === "string";
  return [...(isText ? [value as TextSchema] : []), ...Object.values(value).flatMap(textSchemasIn)];
}

/** True when the text is bounded by its pattern, which then contains no open repetition, or by its format. */
function isBounded({ pattern, format, maxLength }: TextSchema): boolean {
  if (maxLength !== undefined || format === "uuid") return true;
  const withoutClasses = pattern?.replaceAll(/\\.|\[[^\]]*\]/g, "x");
  return withoutClasses !== undefined && /^\^.*\$$/.test(withoutClasses) && !/[*+]|,\}/.test(withoutClasses);
}

t.test(
  "every text of a request that is matched against a pattern or a format has a maximum length",
  async (t) => {
    const unbounded = productRoutes().flatMap(({ method, path, params, query, body }) =>
      textSchemasIn([params, query, body])
        .filter((schema) => !isBounded(schema))
        .map((schema) => `${method} ${path} ${JSON.stringify(schema)}`),
    );
    t.same(unbounded, []);
  },
);
