import { type ChannelAccess, openChatChannel, toChatNumber } from "../../domain/channels/channel-access.ts";
import { invalidateChannelToken } from "../../domain/channels/channels.ts";
import { answerAsOf, cacheTemplates } from "../../domain/channels/template-cache.ts";
import type { Requester } from "../../domain/tenants/audit-actors.ts";
import { requireOpened } from "../../http/api-error.ts";
import { bindToFilters, listReply } from "../../http/lists.ts";
import type { Fields } from "../../platforms/bodies.ts";
import { textOf } from "../../platforms/bodies.ts";
import { toTemplateStatus } from "../../platforms/chat/templates.ts";
import {
  type Collection,
  collect,
  decodePosition,
  encodePosition,
  type Position,
  SEARCH_PAGE_SIZE,
} from "../../platforms/client/list-pages.ts";
import { withDeadTokenCheck } from "../../platforms/errors/failure.ts";
import { deleteOtherTemplates, saveTemplateNamespace } from "../../store/channels/templates.ts";
import { type TemplateParts, toTemplate, toTemplateUpdates, tryCacheWrite } from "./platform-answers.ts";
import type { Listing, TemplateDto } from "./schema.ts";

type Cursors = Parameters<typeof listReply>[1];

interface ListRequest {
  requester: Requester;
  input: Listing;
  cursors: Cursors;
}

export async function listTemplates(parts: TemplateParts, { requester, input, cursors }: ListRequest) {
  const listCursors = bindToFilters(cursors, filtersOf(input));
  const from = decodePosition(
    input.after === undefined ? undefined : listCursors.decode(input.after, "after"),
  );
  const access = requireOpened(await openChatChannel(parts, requester, input.channel_id));
  const at = answerAsOf(new Date());
  const [collection, namespace] = await withDeadTokenCheck(
    async () =>
      [await readTemplates(parts, access, { input, from }), await namespaceOf(parts, access)] as const,
    ({ platformError }) => invalidateChannelToken(parts, { channel: access.row, code: platformError?.code }),
  );
  await tryCacheWrite(parts, access, () =>
    refreshCache(parts, access, { collection, at, isUnfiltered: isUnfiltered(input) }),
  );
  const { found, next } = collection;
  const after = next === undefined ? null : encodePosition(next);
  const page = { data: toTemplates(found), before: null, after, hasMore: next !== undefined };
  return { ...listReply(page, listCursors), namespace };
}

const toTemplates = (items: readonly Fields[]): TemplateDto[] =>
  items.map(toTemplate).filter((template) => template !== undefined);

function readTemplates(
  { platforms }: TemplateParts,
  access: ChannelAccess,
  { input, from }: { input: Listing; from: Position },
): Promise<Collection> {
  const { name, category, language, limit = Number.POSITIVE_INFINITY } = input;
  const matches = matcherOf(input);
  const size = matches ? SEARCH_PAGE_SIZE : Math.min(limit, SEARCH_PAGE_SIZE);
  const number = toChatNumber(access);
  return collect(
    (after) => platforms.chat.templates.list(number, { name, category, language }, { limit: size, after }),
    { from, limit, matches },
  );
}

/**
 * The platform's name filter is a search, and each of our statuses stands for several of the platform's,
 * which it cannot filter in one request. Both are filtered here.
 */
function matcherOf({ name, status }: Listing): ((item: Fields) => boolean) | undefined {
  if (name === undefined && status === undefined) return undefined;
  return (item) =>
    (name === undefined || item.name === name) && (status === undefined || hasStatus(item, status));
}

function hasStatus(item: Fields, wanted: string): boolean {
  const word = textOf(item.status) ?? "";
  return word === wanted || toTemplateStatus(word) === wanted;
}

const filtersOf = ({ channel_id, name, status, category, language }: Listing) => [
  channel_id,
  name,
  status,
  category,
  language,
];

async function namespaceOf(parts: TemplateParts, access: ChannelAccess): Promise<string | null> {
  const { row } = access;
  if (row.template_namespace !== null) return row.template_namespace;
  const number = toChatNumber(access);
  const namespace = await parts.platforms.chat.numbers.namespace(number);
  if (namespace === undefined) return null;
  const found = { channelId: row.id, wabaId: number.wabaId, namespace };
  await tryCacheWrite(parts, access, () => saveTemplateNamespace(parts.db, row.client_id, found));
  return namespace;
}

/** True when the platform was asked for all templates. */
const isUnfiltered = ({ name, category, language, after }: Listing) =>
  [name, category, language, after].every((condition) => condition === undefined);

interface CacheRefresh {
  collection: Collection;
  at: Date;
  isUnfiltered: boolean;
}

async function refreshCache(
  { db }: TemplateParts,
  { row }: ChannelAccess,
  { collection, at, isUnfiltered }: CacheRefresh,
): Promise<void> {
  const templates = toTemplates(collection.read);
  const source = { clientId: row.client_id, wabaId: row.waba_id as string, at };
  await cacheTemplates(
    db,
    templates.flatMap((template) => toTemplateUpdates(template, source)),
  );
  if (isUnfiltered && collection.next === undefined)
    await deleteOtherTemplates(db, source.clientId, {
      ...source,
      hsmIds: templates.map(({ hsm_id }) => hsm_id),
    });
}
