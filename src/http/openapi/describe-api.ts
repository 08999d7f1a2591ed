import { DELIVERY_DEADLINE_MS } from "../../runtime/deadlines.ts";
import { SECOND } from "../../runtime/durations.ts";
import { API_VERSION, EVENT_TYPES, type EventType } from "../../schema/enumerations.ts";
import { eventName } from "../../schema/events/envelope.ts";
import { EVENT_MEANINGS, EVENT_PAYLOADS } from "../../schema/events/event.ts";
import type { Route } from "../route.ts";
import { type Components, createComponents, type Json, type Reference } from "./components.ts";
import { exampleOf } from "./example-of.ts";
import { OVERVIEW } from "./overview.ts";
import { ANY_CREDENTIAL, describeRoute, SECURITY_SCHEMES } from "./route-description.ts";

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
    paths[route.path] = { ...paths[route.path], [route.method]: describeRoute(route, components) };
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

/** The sections of the API reference, in order. A route names its section as its tag. */
const TAG_DESCRIPTIONS: Readonly<Record<string, string>> = {
  Authentication: "Sign in and out, and read what a credential may do.",
  Setup: "Which steps of the setup your client has completed, and what to do next.",
  "API keys": "Keys for your backends. Owners and admins create, rotate and revoke them.",
  Users: "The people of your client who sign in to the console.",
  Channels: "The phone numbers, pages and photo accounts through which your client exchanges messages.",
  "Embedded signup": "One-use pages on which your customers connect their own channels to your client.",
  Messages: "Send messages and follow their status.",
  Batches: "Send a message to many people, at a time and pace of your choice.",
  Templates: "Messages that the chat platform must approve before they can start a conversation.",
  Webhooks: "Where Herald sends your events, and the token that authenticates them.",
  Events: "What happened, whether your backend has received it, and how to send it again.",
  "Event types": "What Herald posts to your backend: one request per event, with a payload for each type.",
  Statistics: "How many messages and events were accepted, and what became of them.",
  Terms: "The terms that your client must accept before it advertises.",
  "Ad accounts": "Connect ad accounts through the ad platform's login, and choose which of them are active.",
  Campaigns: "The goal and, optionally, the budget of your advertising. Ad sets belong to a campaign.",
  "Ad sets": "Audience, schedule, bid and budget. Ads belong to an ad set.",
  Ads: "An ad joins an ad set with a creative.",
  Creatives: "The content of ads: a page's post with a link or a video.",
  Media: "Images and videos that creatives use.",
  Insights:
    "Delivery metrics: queries, reports that the ad platform computes in the background, and summaries.",
  Enumerations: "The values that fields accept.",
  "Audit log": "Who did what, and from where.",
  Platforms: "Endpoints that the platforms call: webhooks, deauthorisation and data deletion.",
  Service: "Health, readiness, metrics and this API description.",
};

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

const WEBHOOK_TAG = "Event types";

/** Every event type as a webhook of the OpenAPI document. */
const describeWebhooks = (components: Components): Record<string, Json> =>
  Object.fromEntries(EVENT_TYPES.map((type) => [type, { post: describeEvent(type, components) }]));

function describeEvent(type: EventType, components: Components): Json {
  const schema = EVENT_PAYLOADS[type];
  const example = exampleOf(schema, type);
  return {
    operationId: `on${eventName(type)}`,
    summary: EVENT_MEANINGS[type],
    description: `Sent to a path below your \`webhook_url\`. Answer within ${DELIVERY_DEADLINE_MS / SECOND} seconds.`,
    tags: [WEBHOOK_TAG],
    security: [],
    parameters: describeEventHeaders(components),
    requestBody: {
      required: true,
      content: { "application/json": { schema: components.openSchema(schema), example } },
    },
    responses: EVENT_RESPONSES,
  };
}

interface HeaderDescription {
  description: string;
  example: string;
  optional?: true;
}

/** The headers of every event. */
const EVENT_HEADERS: Readonly<Record<string, HeaderDescription>> = {
  "webhook-id": {
    description: "The id of the event, the same on every attempt.",
    example: "evt_01jc8m4t7v2x5k9w3r6y1b0nqd",
  },
  "webhook-timestamp": { description: "When this attempt was made, in Unix seconds.", example: "1793525400" },
  "webhook-signature": {
    description: "Signatures by Standard Webhooks, separated by spaces; absent while no token is set.",
    example: "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
    optional: true,
  },
  "x-webhook-token": {
    description: "Your token; absent while none is set.",
    example: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    optional: true,
  },
  "x-webhook-event": { description: "The type of the event.", example: "message.received" },
  "x-webhook-attempt": { description: "The number of this attempt.", example: "1" },
};

const describeEventHeaders = (components: Components): Reference[] =>
  Object.entries(EVENT_HEADERS).map(([name, { description, example, optional }]) =>
    components.share("parameters", name, {
      name,
      in: "header",
      required: optional !== true,
      description,
      schema: { type: "string" },
      example,
    }),
  );

const EVENT_RESPONSES: Json = {
  "2XX": { description: "The event is delivered." },
  410: { description: "The event is failed; it is not sent again." },
  default: { description: "The attempt failed, a redirect too; the event is sent again later." },
};
