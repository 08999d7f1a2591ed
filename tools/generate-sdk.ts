/** Writes sdk/src/generated from the API's OpenAPI document: `npm run sdk`. */
import "reflect-metadata";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROUTES, resolveAll } from "../src/composition/tokens.ts";
import { registerDescribedWeb } from "../src/composition/web/server.ts";
import { describeApi } from "../src/http/openapi/describe-api.ts";
import { packageRoot } from "../src/runtime/package-root.ts";
import { generateSdk } from "./sdk/generate.ts";
import type { ApiDocument } from "./sdk/operations.ts";

const { routes } = resolveAll(registerDescribedWeb(), { routes: ROUTES });
const document = describeApi(routes, { publicUrl: "http://localhost:8080" });
for (const [name, text] of Object.entries(generateSdk(document as unknown as ApiDocument)))
  writeFileSync(join(packageRoot(), "sdk/src/generated", name), text);
