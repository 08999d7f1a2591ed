import type { TSchema } from "../../schema/types.ts";

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
export interface StreamBody extends RawBody {
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
