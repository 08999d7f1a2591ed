import t from "tap";
import { isMediaReply, isRawBody } from "../../src/http/route.ts";
import { createValidator } from "../../src/schema/validate.ts";
import { productRoutes } from "../fixtures/http/api.ts";

t.test(
  "every schema of every route compiles, although processes compile them only on first use",
  async (t) => {
    const { json, strings } = createValidator();
    for (const { method, path, params, query, body, reply } of productRoutes()) {
      const checks = [
        ...[params, query].flatMap((schema) => (schema ? [strings(schema, "the parameters")] : [])),
        ...(body && !isRawBody(body) ? [json(body)] : []),
        ...(reply && !isMediaReply(reply) ? [json(reply)] : []),
      ];
      t.doesNotThrow(() => {
        for (const check of checks) check({ unknown: {} });
      }, `${method} ${path}`);
    }
  },
);
