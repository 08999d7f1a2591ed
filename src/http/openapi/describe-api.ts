import { API_VERSION } from "../../schema/version.ts";
import type { Route } from "../route.ts";
import { ANY_CREDENTIAL, SECURITY_SCHEMES } from "./access.ts";
import { createComponents, type Json } from "./components.ts";
import { describeOperation } from "./operation.ts";
import { OVERVIEW } from "./overview.ts";
import { TAG_DESCRIPTIONS } from "./tags.ts";
import { describeWebhooks, WEBHOOK_TAG } from "./webhooks.ts";

/** The parts of an OpenAPI document that this code uses. */
export interface ApiDocument {
  openapi: string;
  info: Json;
  servers: readonly Json[];
  security: readonly Json[];
  tags: readonly Json[];
  paths: Record<string, Record<string, Json>>;
  webhooks: Record<string, Json>;
  components: Json;
}

/** Builds the OpenAPI 3.1 document of a route table. */
export function describeApi(routes: readonly Route[], { publicUrl }: { publicUrl: string }): ApiDocument {
  const documented = routes.filter((route) => !route.undocumented);
  assertDistinctOperationIds(documented);
  const components = createComponents();
  const paths: ApiDocument["paths"] = {};
  for (const route of documented)
    paths[route.path] = { ...paths[route.path], [route.method]: describeOperation(route, components) };
  return {
    openapi: "3.1.0",
    info: INFO,
    servers: [{ url: publicUrl }],
    security: ANY_CREDENTIAL,
    tags: tagsOf(documented),
    paths,
    webhooks: describeWebhooks(components),
    components: { securitySchemes: SECURITY_SCHEMES, ...components.all() },
  };
}

const INFO = {
  title: "Herald API",
  version: API_VERSION,
  summary: "Messaging channels and ad accounts for your product's customers",
  description: OVERVIEW,
  contact: { name: "The operator of this service" },
  license: { name: "MIT", identifier: "MIT" },
};

/** The tags that have at least one documented route. */
function tagsOf(routes: readonly Route[]): Json[] {
  const used = new Set([...routes.flatMap(({ tag }) => tag ?? []), WEBHOOK_TAG]);
  const unknown = [...used].filter((tag) => !(tag in TAG_DESCRIPTIONS));
  if (unknown.length > 0) throw new Error(`these tags have no description: ${unknown.join(", ")}`);
  const described = Object.entries(TAG_DESCRIPTIONS).filter(([name]) => used.has(name));
  return described.map(([name, description]) => ({ name, description }));
}

/** Generated clients use the operationId as a method name. */
function assertDistinctOperationIds(routes: readonly Route[]): void {
  const known = new Map<string, Route>();
  for (const route of routes) {
    const { operationId: id, path } = route;
    if (id === undefined) throw new Error(`${route.method} ${path} has no operationId`);
    const other = known.get(id);
    if (other) throw new Error(`${other.path} and ${path} both have the operationId ${id}`);
    known.set(id, route);
  }
}
