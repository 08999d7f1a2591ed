import type { Readable } from "node:stream";
import { MANAGING_ROLES, type Role, type Scope } from "../schema/enumerations.ts";
import type { Static, TObject, TSchema } from "../schema/types.ts";
import type { ErrorCode } from "./api-error.ts";
import type { Caller } from "./caller.ts";
import type { Cursors } from "./cursors.ts";
import type { Operation, ReplayedReply } from "./operation.ts";

export type { Operation } from "./operation.ts";

export type Method = "get" | "post" | "patch" | "put" | "delete";

/** Which scope a caller needs: one, any of several, any good credential at all, or none because everybody may ask. */
export type Access = Scope | readonly [Scope, ...Scope[]] | "any credential" | "public";

/** A body that is not JSON: its bytes reach the handler as they came. */
export interface RawBody {
  limit: number;
  // Accepted Content-Types: `image/png`, `image/*`, or `*/*` for any as long as there is one. Absent: it may be missing too.
  mediaTypes?: readonly string[];
}

/** The same, handed to the handler while it comes in: it is never in memory as a whole. */
export interface StreamBody extends RawBody {
  stream: true;
}

/** A reply that is not JSON: the handler answers its text or bytes. */
export interface MediaReply {
  mediaType: string;
}

/** The same, handed on while the handler's source gives it, whose own type it has. `mediaType` is for the documentation. */
export interface StreamReply extends MediaReply {
  stream: true;
}

/** A body that is still coming in. A handler that succeeds has read it. */
export interface IncomingFile {
  /** Its Content-Type; empty where the sender gave none. */
  type: string;
  /** In bytes, where the sender said it. */
  size: number | undefined;
  /** Fails when there is more than the limit, and when the sender goes away. */
  content: AsyncIterable<Uint8Array>;
}

/** A reply that is still being fetched. What stops it in the middle ends the caller's connection, and the other way round. */
export interface OutgoingFile {
  type: string;
  size?: number;
  body: Readable;
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
      : // biome-ignore lint/suspicious/noConfusingVoidType: a handler that answers nothing need not say so
        void;
type CallerOf<A> = A extends "public" ? undefined : Caller;

export interface Exchange {
  requestId: string;
  /** The caller's address, as far as the proxies in front are trusted. */
  address: string;
  header(name: string): string | undefined;
  setHeader(name: string, value: string): void;
}

export interface RequestContext<A, P, Q, B> extends Exchange {
  caller: CallerOf<A>;
  params: P extends TSchema ? Static<P> : Record<string, never>;
  query: Q extends TSchema ? Static<Q> : Record<string, never>;
  body: BodyOf<B>;
  /** Seals and opens list positions for this client and this route. */
  cursors: Cursors;
  /** What the caller has named by an Idempotency-Key; undefined where it has not, or the route takes none. */
  operation: Operation | undefined;
}

interface RouteDefinition<A, P, Q, B, R> {
  method: Method;
  /** OpenAPI's form: `/api/channels/{channel_id}`. */
  path: string;
  summary: string;
  /** More than the summary says, for the documentation. */
  description?: string;
  /** Refusals of its own, beyond those that follow from its scope and its inputs. */
  errors?: readonly ErrorCode[];
  /** Left out of the documentation: assets and pages. */
  undocumented?: true;
  scope: A;
  consoleOnly?: true;
  roles?: readonly [Role, ...Role[]];
  /** A named condition on the client, checked on each request after scope and role. */
  gate?: string;
  /** Takes an Idempotency-Key: who repeats an operation gets its first answer. The handler keeps it, with what it does. */
  idempotent?: true;
  params?: P;
  query?: Q;
  body?: B;
  status?: number;
  reply?: R;
  /** Where that which was made can be read. */
  location?(reply: ReplyOf<R>): string;
  /** The other success, of the same shape: its status, which replies have it, and what is different in them, as an example. */
  otherwise?: { status: number; when(reply: ReplyOf<R>): boolean; example: Partial<ReplyOf<R>> };
  handle(context: RequestContext<A, P, Q, B>): Promise<ReplyOf<R> | ReplayedReply> | ReplyOf<R>;
}

/** An endpoint as data, its types folded away; the pipeline treats them all alike. */
export interface Route
  extends Omit<
    RouteDefinition<
      Access,
      TObject,
      TObject,
      TSchema | RawBody | StreamBody,
      TSchema | MediaReply | StreamReply
    >,
    "handle" | "location" | "otherwise"
  > {
  handle(context: RequestContext<Access, TObject, TObject, TSchema | RawBody>): unknown;
  location?(reply: unknown): string;
  otherwise?: { status: number; when(reply: unknown): boolean; example: object };
  /** The chapter of the documentation; given by the list of resources. */
  tag?: string;
}

/** Puts the routes of a resource under one heading of the documentation. */
export const withTag = (tag: string, routes: readonly Route[]): Route[] =>
  routes.map((route) => ({ ...route, tag }));

/** Declares an endpoint; what the handler is given and must answer follows from its schemas. */
export function route<
  const A extends Access,
  P extends TObject | undefined = undefined,
  Q extends TObject | undefined = undefined,
  B extends TSchema | RawBody | StreamBody | undefined = undefined,
  R extends TSchema | MediaReply | StreamReply | undefined = undefined,
>(definition: RouteDefinition<A, P, Q, B, R>): Route {
  return definition as unknown as Route;
}

/** For what owners and admins do in the console. */
export const MANAGERS_ONLY = { scope: "any credential", consoleOnly: true, roles: MANAGING_ROLES } as const;

export const isRawBody = (body: Route["body"]): body is RawBody => body !== undefined && "limit" in body;

export const isStreamBody = (body: Route["body"]): body is StreamBody => isRawBody(body) && "stream" in body;

export const isMediaReply = (reply: Route["reply"]): reply is MediaReply =>
  reply !== undefined && "mediaType" in reply;

export const isStreamReply = (reply: Route["reply"]): reply is StreamReply =>
  isMediaReply(reply) && "stream" in reply;

/** The statuses of a success, the usual one first. */
export const statusesOf = ({ status, reply, otherwise }: Route): [number, ...number[]] => [
  status ?? (reply ? 200 : 204),
  ...(otherwise ? [otherwise.status] : []),
];

/** The status of a success with this reply. */
export const statusOf = (route: Route, reply: unknown): number =>
  route.otherwise?.when(reply) ? route.otherwise.status : statusesOf(route)[0];

/** Orders a table so that `/a/list` is found before `/a/{id}`, in whichever order they were declared. */
export const literalFirst = (one: Route, other: Route): number => {
  const [first, second] = [one, other].map(({ path }) => path.replace(/\{\w+\}/g, "\uffff")) as [
    string,
    string,
  ];
  return first < second ? -1 : first > second ? 1 : 0;
};
