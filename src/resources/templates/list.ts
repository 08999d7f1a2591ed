import {
  asChatNumber,
  type ChannelAccess,
  openChatChannel,
  speakingFor,
} from "../../domain/channels/channel-access.ts";
import { asOfAnswer, rememberTemplates } from "../../domain/channels/template-cache.ts";
import { listReply } from "../../http/lists.ts";
import { templateStatus } from "../../platforms/chat/template-status.ts";
import type { Fields } from "../../platforms/client/body.ts";
import { textOf } from "../../platforms/client/shapes.ts";
import { invalidField } from "../../runtime/errors.ts";
import { keepTemplateNamespace } from "../../store/channels/template-namespaces.ts";
import { deleteOtherTemplates } from "../../store/channels/templates.ts";
import { kept, type TemplateParts } from "./chat-channel.ts";
import { type Collection, collect, type Position } from "./collect.ts";
import type { Listing, TemplateDto } from "./schema.ts";
import { toNews, toTemplate } from "./template-dto.ts";

type Cursors = Parameters<typeof listReply>[1];

interface Asked {
  clientId: string;
  wish: Listing;
  cursors: Cursors;
}

export async function listTemplates(parts: TemplateParts, { clientId, wish, cursors }: Asked) {
  const from = openPosition(wish, cursors);
  const access = await openChatChannel(parts, clientId, wish.channel_id);
  const at = asOfAnswer(new Date());
  const [collection, namespace] = await speakingFor(parts.db, access, async () => [
    await read(parts, access, { wish, from }),
    await namespaceOf(parts, access),
  ]);
  await kept(parts, access, () => refresh(parts, access, { collection, at, isWhole: isWhole(wish) }));
  const { found, next } = collection;
  const after = next === undefined ? null : toPosition(wish, next);
  const page = { data: toTemplates(found), before: null, after, hasMore: next !== undefined };
  return { ...listReply(page, cursors), namespace };
}

const toTemplates = (items: readonly Fields[]): TemplateDto[] =>
  items.map(toTemplate).filter((template) => template !== undefined);

const LARGEST_PAGE = 100;

function read(
  { chat }: TemplateParts,
  access: ChannelAccess,
  { wish, from }: { wish: Listing; from: Position },
): Promise<Collection> {
  const { name, category, language, limit = Number.POSITIVE_INFINITY } = wish;
  const matches = matcherOf(wish);
  const size = matches ? LARGEST_PAGE : Math.min(limit, LARGEST_PAGE);
  const number = asChatNumber(access);
  return collect(
    (after) => chat().templates.list(number, { name, category, language }, { limit: size, after }),
    { from, limit, matches },
  );
}

/**
 * The platform searches for a name, where we compare it; and each of our words stands for several of its own, for which one
 * cannot ask at once.
 */
function matcherOf({ name, status }: Listing): ((item: Fields) => boolean) | undefined {
  if (name === undefined && status === undefined) return undefined;
  return (item) =>
    (name === undefined || item.name === name) && (status === undefined || hasStatus(item, status));
}

function hasStatus(item: Fields, wanted: string): boolean {
  const word = textOf(item.status) ?? "";
  return word === wanted || templateStatus(word) === wanted;
}

/** Which list a cursor belongs to: in another one its place would mean something else. */
const whichList = ({ channel_id, name, status, category, language }: Listing): string =>
  JSON.stringify([channel_id, name, status, category, language]);

const toPosition = (wish: Listing, { after, skip }: Position): string =>
  JSON.stringify([whichList(wish), skip, after]);

function openPosition(wish: Listing, cursors: Cursors): Position {
  if (wish.after === undefined) return { after: undefined, skip: 0 };
  const [list, skip, after] = JSON.parse(cursors.open(wish.after, "after"));
  if (list !== whichList(wish)) throw invalidField("/after", "after is not a cursor of this list");
  return { after: after ?? undefined, skip };
}

async function namespaceOf(parts: TemplateParts, access: ChannelAccess): Promise<string | null> {
  const { row } = access;
  if (row.template_namespace !== null) return row.template_namespace;
  const number = asChatNumber(access);
  const namespace = await parts.chat().numbers.namespace(number);
  if (namespace === undefined) return null;
  const found = { channelId: row.id, wabaId: number.wabaId, namespace };
  await kept(parts, access, () => keepTemplateNamespace(parts.db, row.client_id, found));
  return namespace;
}

/** Whether the platform was asked for everything that there is. */
const isWhole = ({ name, category, language, after }: Listing) =>
  [name, category, language, after].every((condition) => condition === undefined);

interface News {
  collection: Collection;
  at: Date;
  isWhole: boolean;
}

async function refresh(
  { db }: TemplateParts,
  { row }: ChannelAccess,
  { collection, at, isWhole }: News,
): Promise<void> {
  const templates = toTemplates(collection.read);
  const of = { clientId: row.client_id, wabaId: row.waba_id as string, at };
  await rememberTemplates(
    db,
    templates.flatMap((template) => toNews(template, of)),
  );
  if (isWhole && collection.next === undefined)
    await deleteOtherTemplates(db, of.clientId, { ...of, hsmIds: templates.map(({ hsm_id }) => hsm_id) });
}
