import {
  type AdObjectParts,
  createAdObject,
  editAdObject,
  listAdObjects,
  readAdObject,
  validateAdObject,
} from "../../domain/ads/ad-objects.ts";
import { requestActor, toRequester } from "../../domain/tenants/audit-actors.ts";
import { bindToFilters, listOf, listQuery, listReply, pageRequest } from "../../http/lists.ts";
import { type Route, route } from "../../http/route.ts";
import type { AdObjectKind } from "../../platforms/ads/object-kinds.ts";
import type { Fields } from "../../platforms/bodies.ts";
import { object, type TObject, type TProperties, Type } from "../../schema/types.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import { adAccountId, MAX_FIELD_BYTES } from "./ad-object-fields.ts";
import { createOnce } from "./create-once.ts";
import { ACCOUNT_ERRORS, requireActiveAdAccount } from "./require-ad-account.ts";

export interface AdObjectRouteParts extends Omit<AdObjectParts, "db"> {
  secretBox: SecretBox;
}

/** The parts of a resource in which the kinds of ad objects differ. */
interface AdObjectResource {
  kind: AdObjectKind;
  /** The path of the list, such as `/api/marketing/campaigns`. */
  path: string;
  /** One object, with its article, and several: `a campaign`, `campaigns`. */
  names: { one: string; many: string };
  /** The path parameter, which holds the object's id. */
  params: TObject;
  create: TObject;
  /** Absent when objects of this kind cannot be edited. */
  edit?: TObject;
  /** Filters of the list, each the name of a field. */
  filters?: TProperties;
  reply: TObject;
}

const accountQuery = object({ ad_account_id: adAccountId });

const writeQuery = object({
  validate_only: Type.Optional(
    Type.Boolean({
      description: "`true`: the ad platform checks the request without carrying it out",
    }),
  ),
});

const validated = object({ valid: Type.Literal(true) }, { title: "ValidationResult" });
const VALIDATED = { valid: true };
const isValidated = (reply: unknown) => reply === VALIDATED;

const VALIDATE_NOTE =
  "With `validate_only=true`, the platform only checks the request: the response is 200 with `valid`, or the error that the request would get.";

/** A body of a write: the account and the fields to write. */
type WriteBody = Fields & { ad_account_id: string };

/** Routes that create, edit, read and list the objects of one kind. */
export function adObjectRoutes(resource: AdObjectResource, parts: AdObjectRouteParts): Route[] {
  const { edit } = resource;
  return [
    createRoute(resource, parts),
    ...(edit ? [editRoute({ ...resource, edit }, parts)] : []),
    readRoute(resource, parts),
    listRoute(resource, parts),
  ];
}

const objectPathOf = ({ path, params }: AdObjectResource) => `${path}/{${Object.keys(params.properties)[0]}}`;

/** `an ad set` becomes AdSet, `ad sets` becomes AdSets. */
const toNoun = (name: string) =>
  name.replace(/^an? /, "").replace(/(?:^| )(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The value of the only path parameter. */
const idIn = (params: object): string => Object.values(params)[0];

const createRoute = ({ kind, path, names, create, reply }: AdObjectResource, parts: AdObjectRouteParts) =>
  route({
    method: "post",
    path,
    operationId: `create${toNoun(names.one)}`,
    scope: "marketing:manage",
    gate: "terms",
    summary: `Create ${names.one} and return it as the ad platform stored it`,
    description: `If the new object cannot be read again, the response contains its id and the fields sent. After 504 \`platform_timeout\` the object may exist: repeat the request with the same Idempotency-Key, which looks for the object before it creates one. ${VALIDATE_NOTE}`,
    idempotent: "claimed_operations",
    ignoresKey: ({ validate_only }) => validate_only === true,
    errors: ACCOUNT_ERRORS,
    query: writeQuery,
    body: create,
    maxFieldBytes: MAX_FIELD_BYTES,
    status: 201,
    reply,
    otherwise: { status: 200, when: isValidated, reply: validated },
    async handle(context) {
      const { query, body } = context;
      const own = { ...parts, db: context.db };
      const { ad_account_id, ...fields } = body as WriteBody;
      const actor = requestActor(context);
      const requireAccount = () => requireActiveAdAccount(own, actor, ad_account_id);
      if (query.validate_only) {
        await validateAdObject(own, await requireAccount(), { kind, fields });
        return VALIDATED;
      }
      return createOnce(own, context, async (run) =>
        createAdObject(own, await requireAccount(), { actor, kind, fields, run }),
      );
    },
  });

const editRoute = (resource: AdObjectResource & { edit: TObject }, parts: AdObjectRouteParts) =>
  route({
    method: "patch",
    path: objectPathOf(resource),
    operationId: `update${toNoun(resource.names.one)}`,
    scope: "marketing:manage",
    gate: "terms",
    summary: `Edit ${resource.names.one} and return it as the ad platform stored it`,
    description: `Only the fields in the request change; null counts as absent. If the object cannot be read again, the response contains its id and the fields sent. ${VALIDATE_NOTE}`,
    errors: ACCOUNT_ERRORS,
    params: resource.params,
    query: writeQuery,
    body: resource.edit,
    maxFieldBytes: MAX_FIELD_BYTES,
    reply: resource.reply,
    otherwise: { status: 200, when: isValidated, reply: validated },
    async handle(context) {
      const { params, query, body } = context;
      const own = { ...parts, db: context.db };
      const { kind } = resource;
      const { ad_account_id, ...fields } = body as WriteBody;
      const account = await requireActiveAdAccount(own, toRequester(context), ad_account_id);
      const edit = { kind, id: idIn(params), fields };
      if (!query.validate_only) return editAdObject(own, account, edit);
      await validateAdObject(own, account, edit);
      return VALIDATED;
    },
  });

const readRoute = (resource: AdObjectResource, parts: AdObjectRouteParts) =>
  route({
    method: "get",
    path: objectPathOf(resource),
    operationId: `get${toNoun(resource.names.one)}`,
    scope: "marketing:read",
    summary: `Read ${resource.names.one} from the ad platform`,
    errors: ACCOUNT_ERRORS,
    params: resource.params,
    query: accountQuery,
    reply: resource.reply,
    async handle(context) {
      const { params, query } = context;
      const own = { ...parts, db: context.db };
      const account = await requireActiveAdAccount(own, toRequester(context), query.ad_account_id);
      return readAdObject(own, account, { kind: resource.kind, id: idIn(params) });
    },
  });

const listRoute = ({ kind, path, names, filters = {}, reply }: AdObjectResource, parts: AdObjectRouteParts) =>
  route({
    method: "get",
    path,
    operationId: `list${toNoun(names.many)}`,
    scope: "marketing:read",
    summary: `List ${names.many} of an ad account, in the ad platform's order`,
    description:
      "Deleted and archived objects are listed only if `status` asks for them. A page may be short, or even empty, and still have more.",
    errors: ACCOUNT_ERRORS,
    query: listQuery({ ad_account_id: adAccountId, ...filters }),
    reply: listOf(reply),
    async handle(context) {
      const { query, cursors } = context;
      const own = { ...parts, db: context.db };
      const { ad_account_id, limit, after, before, ...where } = query;
      // In the order of the declaration: the caller may order the parameters differently in each request.
      const filterValues = Object.keys(filters).map((name) => (where as Fields)[name]);
      const listCursors = bindToFilters(cursors, [ad_account_id, ...filterValues]);
      const page = pageRequest(query, listCursors);
      const account = await requireActiveAdAccount(own, toRequester(context), ad_account_id);
      const { items, ...positions } = await listAdObjects(own, account, { kind, where, ...page });
      return listReply({ data: items, ...positions }, listCursors);
    },
  });
