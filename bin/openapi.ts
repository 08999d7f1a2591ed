/** Prints the OpenAPI document. It is generated from the route table: no server and no setting is needed. */
import "reflect-metadata";
import { registerDescribedWeb } from "../src/composition/web/describe-web.ts";
import { productDocument } from "../src/composition/web/product-document.ts";
import { ConfigError } from "../src/runtime/config/config.ts";

try {
  const container = registerDescribedWeb({ PUBLIC_URL: process.env.PUBLIC_URL });
  process.stdout.write(`${JSON.stringify(productDocument(container), null, 2)}\n`);
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
