/** Prints the OpenAPI document. It is generated from the route table: no server and no setting is needed. */
import "reflect-metadata";
import { CONFIG, ROUTES, resolveAll } from "../src/composition/tokens.ts";
import { registerDescribedWeb } from "../src/composition/web/server.ts";
import { describeApi } from "../src/http/openapi/describe-api.ts";
import { ConfigError } from "../src/runtime/config/config.ts";

try {
  const container = registerDescribedWeb({ PUBLIC_URL: process.env.PUBLIC_URL });
  const { config, routes } = resolveAll(container, { config: CONFIG, routes: ROUTES });
  const document = describeApi(routes, { publicUrl: config.PUBLIC_URL });
  process.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
