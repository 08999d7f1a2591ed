/** The parts of an OpenAPI document that the page reads. */
export interface ApiDocument {
  tags?: readonly { name: string }[];
  paths: Record<string, PathItem>;
  webhooks?: Record<string, PathItem>;
}

export type PathItem = Record<string, ApiOperation>;

export interface ApiOperation {
  operationId?: string;
  summary?: string;
  tags?: readonly string[];
  parameters?: readonly { name: string; in: string; example?: unknown }[];
  requestBody?: { content: Record<string, unknown> };
}

/** An operation or an event type, as the menu and the search show it. */
export interface Entry {
  /** Swagger UI shows all webhooks under the tag `webhooks`. */
  tag: string;
  id: string;
  /** The HTTP method, or "event". */
  method: string;
  /** The path, or the event type. */
  name: string;
  summary: string;
}

export const WEBHOOKS_TAG = "webhooks";

/** All operations in the order of their tags, then the event types. */
export function entriesOf(document: ApiDocument): Entry[] {
  const operations = Object.entries(document.paths).flatMap(([path, item]) => operationEntries(path, item));
  const order = (document.tags ?? []).map(({ name }) => name);
  operations.sort((a, b) => order.indexOf(a.tag) - order.indexOf(b.tag));
  return [...operations, ...Object.entries(document.webhooks ?? {}).flatMap(webhookEntries)];
}

const operationEntries = (path: string, item: PathItem): Entry[] =>
  Object.entries(item).map(([method, { tags = [], operationId = "", summary = "" }]) => ({
    tag: tags[0] ?? "default",
    id: operationId,
    method,
    name: path,
    summary,
  }));

const webhookEntries = ([type, item]: [string, PathItem]): Entry[] =>
  Object.values(item).map(({ operationId = type, summary = "" }) => ({
    tag: WEBHOOKS_TAG,
    id: operationId,
    method: "event",
    name: type,
    summary,
  }));

/** The fragment of the URL that opens an entry. Swagger UI uses the same. */
export const hashOf = ({ tag, id }: Entry): string =>
  `#/${encodeURIComponent(tag)}/${encodeURIComponent(id)}`;

/** Gives each webhook an operationId: Swagger UI would otherwise invent one that `hashOf` does not know. */
export function withWebhookIds(document: ApiDocument): ApiDocument {
  if (!document.webhooks) return document;
  const named = Object.entries(document.webhooks).map(([type, item]) => [
    type,
    Object.fromEntries(
      Object.entries(item).map(([method, operation]) => [method, { operationId: type, ...operation }]),
    ),
  ]);
  return { ...document, webhooks: Object.fromEntries(named) };
}
