import type { DependencyContainer } from "tsyringe";
import { type ApiDocument, describeApi } from "../../http/openapi/describe-api.ts";
import { CONFIG, ROUTES, resolve } from "../tokens.ts";

/** Returns the OpenAPI document of all routes. */
export const productDocument = (container: DependencyContainer): ApiDocument =>
  describeApi(resolve(container, ROUTES), { publicUrl: resolve(container, CONFIG).PUBLIC_URL });
