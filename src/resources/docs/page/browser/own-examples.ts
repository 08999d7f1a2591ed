import type { ApiDocument, ApiOperation, PathItem } from "./api-document.ts";

/** A list of the caller's objects, and where the document has an example of their id. */
interface IdSource {
  list: string;
  /** The path whose parameter has the example. */
  path: string;
  parameter: string;
  field: string;
}

const FIRST_SOURCES: readonly IdSource[] = [
  {
    list: "/api/channels?platform=chatapp&status=connected&limit=1",
    path: "/api/channels/{channel_id}",
    parameter: "channel_id",
    field: "channel_id",
  },
  sourceOf("/api/embed/sessions", "sessionId", "id"),
  sourceOf("/api/outbound/messages", "message_id", "message_id"),
  sourceOf("/api/webhooks/events", "id", "id"),
  sourceOf("/api/marketing/ad-accounts", "id", "id"),
  {
    list: "/api/marketing/ad-accounts?limit=1",
    path: "/api/marketing/campaigns",
    parameter: "ad_account_id",
    field: "ad_account_id",
  },
];

/** Lists whose query needs the caller's ad account. */
const AD_SOURCES: readonly IdSource[] = [
  sourceOf("/api/marketing/campaigns", "campaignId", "id"),
  sourceOf("/api/marketing/adsets", "adSetId", "id"),
  sourceOf("/api/marketing/ads", "adId", "id"),
  sourceOf("/api/marketing/creatives", "creativeId", "id"),
];

function sourceOf(list: string, parameter: string, field: string): IdSource {
  return { list: `${list}?limit=1`, path: `${list}/{${parameter}}`, parameter, field };
}

/** Example ids of the document, with the caller's id for each. */
type Replacements = Map<unknown, unknown>;

interface List {
  data: Record<string, unknown>[];
}

/** Reads a list of the API as the caller; undefined when the caller may not read it. */
type ReadList = (path: string) => Promise<List | undefined>;

/** Returns the document with ids of the caller in its examples, so that they work as shown. */
export async function withOwnIds(document: ApiDocument, readList: ReadList): Promise<ApiDocument> {
  const ids: Replacements = new Map();
  async function readId({ list, path, parameter, field }: IdSource, query = ""): Promise<void> {
    const example = exampleAt(document, path, parameter);
    const id = example === undefined ? undefined : (await readList(list + query))?.data[0]?.[field];
    if (id !== undefined) ids.set(example, id);
  }
  await Promise.all(FIRST_SOURCES.map((source) => readId(source)));
  const account = ids.get(exampleAt(document, "/api/marketing/campaigns", "ad_account_id"));
  if (account !== undefined)
    await Promise.all(AD_SOURCES.map((source) => readId(source, `&ad_account_id=${account}`)));
  const paths = Object.entries(document.paths).map(([path, item]) => [path, replaceInItem(item, ids)]);
  return { ...document, paths: Object.fromEntries(paths) };
}

const exampleAt = (document: ApiDocument, path: string, parameter: string): unknown =>
  document.paths[path]?.get?.parameters?.find(({ name }) => name === parameter)?.example;

/** Examples of DELETE keep their ids: one click must not delete an object of the caller. */
const replaceInItem = (item: PathItem, ids: Replacements): PathItem =>
  Object.fromEntries(
    Object.entries(item).map(([method, operation]) => [
      method,
      method === "delete" ? operation : replaceInOperation(operation, ids),
    ]),
  );

const replaceInOperation = (
  { parameters, requestBody, ...rest }: ApiOperation,
  ids: Replacements,
): ApiOperation => ({
  ...rest,
  ...(parameters ? { parameters: replaceValues(parameters, ids) } : {}),
  ...(requestBody ? { requestBody: replaceValues(requestBody, ids) } : {}),
});

/** Returns a copy in which each value that is an example id is replaced. */
const replaceValues = <T>(part: T, ids: Replacements): T =>
  JSON.parse(JSON.stringify(part), (_, value) => ids.get(value) ?? value);
