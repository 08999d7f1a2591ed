import { MANAGING_ROLES, type Role, type Scope } from "../schema/enumerations.ts";
import { type Static, type TObject, type TSchema, Type } from "../schema/types.ts";
import type { Database } from "../store/database/database.ts";
import type { ErrorCode } from "./api-error.ts";
import type { Caller } from "./credentials.ts";
import type { Cursors } from "./lists.ts";
import type {
  CsvReply,
  EventStreamReply,
  MediaReply,
  OutgoingFile,
  ReplayedReply,
  StreamReply,
} from "./reply.ts";

export { CsvReply, EventStreamReply } from "./reply.ts";

export type Method = "get" | "post" | "patch" | "put" | "delete";

/** The scope that a caller needs: one, any of several, any valid credential, or none for a public route. */
export type Access = Scope | readonly [Scope, ...Scope[]] | "any_credential" | "public";

const KIB = 1_024;
export const MIB = 1_024 * KIB;

/** Maximum size in bytes of a body on a route with a credential. */
export const MAX_BODY_BYTES = 10 * MIB;

/** For routes without a credential, to which anyone can send. */
const MAX_PUBLIC_BODY_BYTES = 16 * KIB;

/**
 * `clients`: routes with a credential. `handedOn`: bodies that a thread or a platform takes over. `webhook`: the webhook
 * endpoint. `public`: other routes without a credential.
 */
export type BodyPartName = "clients" | "handedOn" | "webhook" | "public";

/** A body that the pipeline does not parse: the handler receives its bytes. */
export interface RawBody {
  limit: number;
  // Accepted Content-Types: `image/png`, `image/*`, or `*/*` for any. When absent, the header may be missing
  // too.
  mediaTypes?: readonly string[];
  /** The part of the memory for bodies that it uses; by default that of the route's callers. */
  part?: BodyPartName;
  /** For JSON that the handler has parsed in another thread: documents the body and is not checked by the pipeline. */
  schema?: TSchema;
}

/** A raw body that the handler receives as a stream; it is never in memory as a whole. */
interface StreamBody extends RawBody {
  stream: true;
}

/** A streamed request body. A handler must have read it before it succeeds. */
export interface IncomingFile {
  /** The Content-Type; empty when the sender gave none. */
  type: string;
  /** Size in bytes, if the sender declared it. */
  size: number | undefined;
  /** Fails when the body exceeds the limit or the sender disconnects. */
  content: AsyncIterable<Uint8Array>;
}

type BodyOf<B> = B extends TSchema
  ? Static<B>
  : B extends StreamBody
    ? IncomingFile
    : B extends RawBody
      ? Buffer
      : Record<string, never>;
type ReplyOf<R> = R extends TSchema
  ? Static<R>
  : R extends StreamReply
    ? OutgoingFile
    : R extends MediaReply
      ? string | Buffer
      : // biome-ignore lint/suspicious/noConfusingVoidType: a handler without a reply returns nothing
        void;
type CallerOf<A> = A extends "public" ? undefined : Caller;

export interface Exchange {
  requestId: string;
  /** The caller's IP address, taken from the trusted proxies if there are any. */
  address: string;
  header(name: string): string | undefined;
  /** A signal that aborts when the caller disconnects, for work that is not worth finishing then. */
  callerGone(): AbortSignal;
  setHeader(name: string, value: string): void;
  /** Adds ids to the request's line in the log. Never a token. */
  addLogIds(ids: Readonly<Record<string, string>>): void;
}

export interface RequestContext<A, P, Q, B> extends Exchange {
  caller: CallerOf<A>;
  /** The database, with the connections of this caller. */
  db: Database;
  params: P extends TSchema ? Static<P> : Record<string, never>;
  query: Q extends TSchema ? Static<Q> : Record<string, never>;
  body: BodyOf<B>;
  /** Encodes and decodes list positions for this client and route. */
  cursors: Cursors;
  /** The operation of an Idempotency-Key; undefined without a key or when the route takes none. */
  operation: Operation | undefined;
  /** True when the caller prefers CSV on a route with `csv`: the handler then returns a CsvReply. */
  wantsCsv: boolean;
  /** True when the caller accepts server-sent events on a route with `eventStream`: the handler returns an EventStreamReply. */
  wantsEventStream: boolean;
  /** Checks the credential of the request again: false when it no longer allows the request. */
  isStillAllowed(): Promise<boolean>;
}

/** An alternative success: its status, and when it applies. */
interface Alternative<T> {
  status: number;
  when(reply: T): boolean;
  /** Its schema; without it, the schema of the route's reply. */
  reply?: TSchema;
  /** Fields that differ from the schema's example. */
  example?: Partial<T>;
}

interface RouteDefinition<A, P, Q, B, R> {
  method: Method;
  /** In OpenAPI syntax: `/api/channels/{channel_id}`. */
  path: string;
  /** Verb and noun, such as `sendMessage`. Generated clients use it as a method name, so it must not change. */
  operationId?: string;
  summary: string;
  /** Details for the documentation. */
  description?: string;
  /** Error codes besides those that follow from scope and inputs. */
  errors?: readonly ErrorCode[];
  /** Excluded from the documentation: assets and views. */
  undocumented?: true;
  scope: A;
  consoleOnly?: true;
  roles?: readonly [Role, ...Role[]];
  /** A named condition on the client, checked on every request after scope and role. */
  gate?: string;
  /** Accepts an Idempotency-Key: a repeated request gets the first reply, which the handler stores in this table. */
  idempotent?: OperationTable;
  /** A request without an Idempotency-Key is a 400. */
  requiresKey?: true;
  /** Requests for which an Idempotency-Key is ignored: they change nothing. */
  ignoresKey?(query: Q extends TSchema ? Static<Q> : Record<string, never>): boolean;
  /** A repetition does no harm and gets the same answer, so a request whose outcome is unknown is answered with 503. */
  repeatable?: true;
  params?: P;
  query?: Q;
  body?: B;
  /** Documents the JSON body when a schema that is easier to read accepts the same bodies. */
  bodyDocs?: TSchema;
  /** Refuses a request by its headers, before its body is read. */
  checkHead?(exchange: Exchange): void;
  /** Maximum bytes of each top-level field of a JSON body, as received; a longer one is a 400. */
  maxFieldBytes?: number;
  /** Maximum bytes of a JSON body, when it is less than that of other routes; a longer one is a 413. */
  maxBodyBytes?: number;
  /** Maximum number of values in a JSON body, when it is more than that of other routes. */
  maxValues?: number;
  /** A field with a list whose items the handler checks: a fault concerns the item only. Its schema allows any items. */
  listOfItems?: string;
  status?: number;
  reply?: R;
  /** Path of the created object, for the Location header. */
  location?(reply: ReplyOf<R>): string;
  /** Headers of every reply, errors included. */
  headers?: Readonly<Record<string, string>>;
  /** Adds an ETag; a request whose If-None-Match names it gets 304 without a body. */
  etag?: true;
  otherwise?: Alternative<ReplyOf<R>>;
  /** Also answers `text/csv`, to callers that prefer it to JSON; the example is for the documentation. */
  csv?: { example: string };
  /** Also answers `text/event-stream`, to callers that accept it; the example is for the documentation. */
  eventStream?: { example: string };
  /** A field of the reply that the request's line in the log contains. */
  loggedId?: string;
  /** The level of the request's line in the log. Default: info. With `debug`, for polled routes, so are the later faults of an outage. */
  logLevel?: "debug";
  handle(
    context: RequestContext<A, P, Q, B>,
  ): Promise<ReplyOf<R> | ReplayedReply | CsvReply | EventStreamReply> | ReplyOf<R>;
}

/** A route as data, without type parameters, so that the pipeline handles all routes the same way. */
export interface Route
  extends Omit<
    RouteDefinition<
      Access,
      TObject,
      TObject,
      TSchema | RawBody | StreamBody,
      TSchema | MediaReply | StreamReply
    >,
    "handle" | "location" | "otherwise" | "ignoresKey"
  > {
  handle(context: RequestContext<Access, TObject, TObject, TSchema | RawBody>): unknown;
  location?(reply: unknown): string;
  ignoresKey?(query: unknown): boolean;
  otherwise?: Omit<Alternative<unknown>, "example"> & { example?: object };
  /** The section of the documentation; set by withTag. */
  tag?: string;
}

/** Assigns the routes of a resource to one section of the documentation. */
export const withTag = (tag: string, routes: readonly Route[]): Route[] =>
  routes.map((route) => ({ ...route, tag }));

/** Declares a route; the handler's input and reply types follow from its schemas. */
export function route<
  const A extends Access,
  P extends TObject | undefined = undefined,
  Q extends TObject | undefined = undefined,
  B extends TSchema | RawBody | StreamBody | undefined = undefined,
  R extends TSchema | MediaReply | StreamReply | undefined = undefined,
>(definition: RouteDefinition<A, P, Q, B, R>): Route {
  return definition as unknown as Route;
}

/** Access for users with the role owner or admin; API keys are rejected. */
export const MANAGERS_ONLY = { scope: "any_credential", consoleOnly: true, roles: MANAGING_ROLES } as const;

/** True when the caller may repeat a request whose outcome is unknown. */
export const isRepeatable = ({ method, repeatable }: Route): boolean =>
  method === "get" || repeatable === true;

export const isRawBody = (body: Route["body"]): body is RawBody => body !== undefined && "limit" in body;

/** The schema of a JSON body; undefined for any other body. */
export const bodySchemaOf = ({ body }: Pick<Route, "body">): TSchema | undefined =>
  isRawBody(body) ? body.schema : body;

export const isStreamBody = (body: Route["body"]): body is StreamBody => isRawBody(body) && "stream" in body;

export function bodyLimitOf({ body, scope, maxBodyBytes = MAX_BODY_BYTES }: Route): number {
  if (isRawBody(body)) return body.limit;
  return scope === "public" ? MAX_PUBLIC_BODY_BYTES : maxBodyBytes;
}

/** The part of the memory for bodies that the bodies of a route use. A streamed body goes on to a platform. */
export function bodyPartOf({ body, scope }: Route): BodyPartName {
  if (isStreamBody(body)) return "handedOn";
  return (isRawBody(body) && body.part) || (scope === "public" ? "public" : "clients");
}

export const isMediaReply = (reply: Route["reply"]): reply is MediaReply =>
  reply !== undefined && "mediaType" in reply;

export const isStreamReply = (reply: Route["reply"]): reply is StreamReply =>
  isMediaReply(reply) && "stream" in reply;

/** Success statuses, the default one first. */
export const statusesOf = ({ status, reply, otherwise }: Route): [number, ...number[]] => [
  status ?? (reply ? 200 : 204),
  ...(otherwise ? [otherwise.status] : []),
];

/** The success status of this reply. */
export const statusOf = (route: Route, reply: unknown): number =>
  route.otherwise?.when(reply) ? route.otherwise.status : statusesOf(route)[0];

/** The schema of the JSON body of this success status; undefined for any other body. */
export function replySchemaOf(route: Route, status: number): TSchema | undefined {
  const { reply, otherwise } = route;
  if (!reply || isMediaReply(reply)) return undefined;
  if (otherwise?.status !== status || !otherwise.reply) return reply;
  return status === statusesOf(route)[0] ? Type.Union([reply, otherwise.reply]) : otherwise.reply;
}

/** Sorts routes so that `/a/list` matches before `/a/{id}`, regardless of the order of declaration. */
export const literalFirst = (one: Route, other: Route): number => {
  const [first, second] = [one, other].map(({ path }) => path.replace(/\{\w+\}/g, "\uffff")) as [
    string,
    string,
  ];
  return first < second ? -1 : first > second ? 1 : 0;
};

/**
 * Tables of operations. A row of `idempotency_keys` is committed together with the work, a row of `claimed_operations`
 * before it, because the work is a platform call.
 */
export type OperationTable = "idempotency_keys" | "claimed_operations";

/** An operation identified by an Idempotency-Key. */
export interface Operation {
  /** Id of its row, derived from client, route and key. */
  id: string;
  /** Hash of the body: the same key with a different body is rejected. */
  fingerprint: string;
  /** Encrypts the reply for storage. */
  seal(reply: unknown): string;
  /** Marks a reply to a repeated request. */
  replayOf(reply: unknown): ReplayedReply;
  /** Returns the stored reply; throws a 422 when it was stored for a different body. */
  replay(stored: StoredOperation): ReplayedReply;
}

/** The stored row of an operation. */
interface StoredOperation {
  fingerprint: string;
  reply_sealed: string;
}
