import { SECOND } from "../../runtime/durations.ts";
import { type Fields, formBody, textOf } from "../bodies.ts";
import type { PlatformClient } from "../client/client.ts";
import {
  collect,
  decodePosition,
  encodePosition,
  type ListPageRequest,
  MAX_SEARCHED_PAGES,
  type PlatformListPage,
  SEARCH_PAGE_SIZE,
} from "../client/list-pages.ts";
import type { PlatformSender } from "../client/sender.ts";
import { isInvalid } from "../errors/failure.ts";
import { type AdAccess, accountSender, type Ownership } from "./access.ts";
import {
  type AdObject,
  type AdObjectKind,
  OBJECT_KINDS,
  toWritten,
  type UnansweredCreate,
} from "./object-kinds.ts";

interface ListRequest extends ListPageRequest {
  /** Values that a listed object must have; the value of a parent field lists only the objects under it. */
  where?: Fields;
}

interface Creation {
  fields: Fields;
  /** Runs right before the create is sent, after all checks. */
  beforeCall?(): Promise<void>;
}

/** Fields to write; an object's id when it exists already. */
interface Write {
  id?: string | undefined;
  fields: Fields;
}

type FoundOutcome =
  | { outcome: "found"; object: AdObject }
  /** The create had no effect. */
  | { outcome: "none" }
  | { outcome: "undecided" };

/**
 * Campaigns, ad sets, ads and creatives; OBJECT_KINDS holds the differences. Every id in a call must belong to the
 * account, or the call fails as "missing".
 */
export interface AdObjects {
  /** Returns the object as it was written. */
  create(access: AdAccess, kind: AdObjectKind, creation: Creation): Promise<AdObject>;
  /** Looks for the object that an unanswered create may have made. */
  findCreated(access: AdAccess, kind: AdObjectKind, created: UnansweredCreate): Promise<FoundOutcome>;
  /** Returns the object's id and the fields that were written. */
  update(access: AdAccess, kind: AdObjectKind, write: Write & { id: string }): Promise<AdObject>;
  /** Lets the platform check a create or an update without carrying it out. */
  validate(access: AdAccess, kind: AdObjectKind, write: Write): Promise<void>;
  read(access: AdAccess, kind: AdObjectKind, id: string): Promise<Fields>;
  list(access: AdAccess, kind: AdObjectKind, request?: ListRequest): Promise<PlatformListPage>;
}

const VALIDATE_ONLY = { execution_options: ["validate_only"] };

export function createAdObjects(client: PlatformClient, ownership: Ownership): AdObjects {
  /** Checks the object itself and those it refers to. */
  async function checkOwnership(access: AdAccess, kind: AdObjectKind, { id, fields }: Write): Promise<void> {
    const references = OBJECT_KINDS[kind].references(fields).filter((one) => one !== undefined);
    await Promise.all([
      ...(id === undefined ? [] : [ownership.check(access, id, OBJECT_KINDS[kind].ownField)]),
      ...references.map((reference) => ownership.check(access, String(reference))),
    ]);
  }

  return {
    async create(access, kind, { fields, beforeCall }) {
      await checkOwnership(access, kind, { fields });
      await beforeCall?.();
      const written = OBJECT_KINDS[kind].withDefaults(fields);
      const { id } = await accountSender(client, access).create(
        `/${access.account}/${kind}`,
        formBody(written),
      );
      return toWritten(kind, ownership.remember(access, id, OBJECT_KINDS[kind].ownField), written);
    },
    findCreated: (access, kind, created) =>
      findCreated(accountSender(client, access), kind, { access, created }),
    async update(access, kind, { id, fields }) {
      await checkOwnership(access, kind, { id, fields });
      await accountSender(client, access).change(`/${id}`, formBody(fields));
      return toWritten(kind, id, fields);
    },
    async validate(access, kind, { id, fields }) {
      await checkOwnership(access, kind, { id, fields });
      const path = id === undefined ? `/${access.account}/${kind}` : `/${id}`;
      const written = id === undefined ? OBJECT_KINDS[kind].withDefaults(fields) : fields;
      await accountSender(client, access).change(path, formBody({ ...written, ...VALIDATE_ONLY }));
    },
    async read(access, kind, id) {
      const { fields, ownField, normalize } = OBJECT_KINDS[kind];
      const query = { fields: [...fields, "account_id"].join() };
      const read = accountSender(client, access).get(`/${id}`, query);
      const { account_id, ...row } = await read.catch(async (error) => {
        if (isInvalid(error)) await ownership.check(access, id, ownField); // "missing" for another kind of object
        throw error;
      });
      ownership.confirm(access, id, { accountId: account_id, ownField });
      return normalize(row);
    },
    async list(access, kind, { where = {}, ...request } = {}) {
      const { fields, normalize } = OBJECT_KINDS[kind];
      const { parent, filters } = toPlatformList(kind, where);
      if (parent !== undefined) await ownership.check(access, parent);
      const query = { fields: fields.join(), ...effectiveStatusFilter(filters.status) };
      const path = `/${parent ?? access.account}/${kind}`;
      const readPage = (page: ListPageRequest) => accountSender(client, access).page(path, query, page);
      const found = isEmpty(filters)
        ? await readPage(request)
        : await readMatching(readPage, { filters, ...request });
      return { ...found, items: found.items.map(normalize) };
    },
  };
}

const isEmpty = (fields: Fields) => Object.keys(fields).length === 0;

/** The closest parent has an edge at the platform; the other conditions are filters. */
function toPlatformList(kind: AdObjectKind, where: Fields): { parent: string | undefined; filters: Fields } {
  const given = Object.entries(where).filter(([, value]) => value !== undefined);
  const parentField = OBJECT_KINDS[kind].parents.find((field) => where[field] !== undefined);
  return {
    parent: parentField === undefined ? undefined : String(where[parentField]),
    filters: Object.fromEntries(given.filter(([field]) => field !== parentField)),
  };
}

/**
 * The platform filters only by effective status and hides deleted and archived objects unless asked for them.
 */
const effectiveStatusFilter = (status: unknown): Fields =>
  status === "DELETED" || status === "ARCHIVED" ? { effective_status: [status] } : {};

interface FilteredRequest {
  filters: Fields;
  limit?: number | undefined;
  after?: string | undefined;
}

/** Filters that the platform cannot apply are applied here, so that a list page is not short without need. */
async function readMatching(
  readPage: (page: ListPageRequest) => Promise<PlatformListPage>,
  { filters, limit = SEARCH_PAGE_SIZE, after }: FilteredRequest,
): Promise<PlatformListPage> {
  const conditions = Object.entries(filters);
  const { found, next } = await collect((from) => readPage({ limit: SEARCH_PAGE_SIZE, after: from }), {
    from: decodePosition(after),
    limit,
    maxPages: MAX_SEARCHED_PAGES,
    matches: (item) => conditions.every(([field, value]) => item[field] === value),
  });
  const position = next === undefined ? null : encodePosition(next);
  return { items: found, before: null, after: position, hasMore: next !== undefined };
}

/** Looks for the object that an unanswered create may have made: the oldest one that it matches. */
async function findCreated(
  sender: PlatformSender,
  kind: AdObjectKind,
  { access, created }: { access: AdAccess; created: UnansweredCreate },
): Promise<FoundOutcome> {
  if (created.fields.name === undefined) return { outcome: "undecided" };
  const { fields, recognize, normalize } = OBJECT_KINDS[kind];
  const query = { fields: fields.join(), ...searchFilter(kind, created) };
  const readPage = (after: string | undefined) =>
    sender.page(`/${access.account}/${kind}`, query, { limit: SEARCH_PAGE_SIZE, after });
  const { found, next } = await collect(readPage, {
    from: { after: undefined, skip: 0 },
    limit: Number.POSITIVE_INFINITY,
    maxPages: MAX_SEARCHED_PAGES,
    matches: (row) => recognize(row, created) !== "different",
  });
  const same = found.filter((row) => recognize(row, created) === "same");
  const [oldest] = same.reverse().sort(byCreationTime); // the platform lists the newest first
  const id = textOf(oldest?.id);
  if (oldest && id !== undefined) return { outcome: "found", object: { ...normalize(oldest), id } };
  return found.length === 0 && next === undefined ? { outcome: "none" } : { outcome: "undecided" };
}

/** The creatives edge has no such filter. */
const searchFilter = (kind: AdObjectKind, { fields, since }: UnansweredCreate): Fields =>
  kind === "adcreatives"
    ? {}
    : {
        filtering: [
          { field: "name", operator: "EQUAL", value: fields.name },
          {
            field: "created_time",
            operator: "GREATER_THAN",
            value: Math.floor(since.getTime() / SECOND) - 1,
          },
        ],
      };

const byCreationTime = (one: Fields, other: Fields) =>
  Date.parse(String(one.created_time)) - Date.parse(String(other.created_time)) || 0;
