import type { Readable } from "node:stream";

/** A reply that is not JSON: the handler returns its text or bytes. */
export interface MediaReply {
  mediaType: string;
}

/** A reply that is streamed with its own Content-Type; `mediaType` is for the documentation. */
export interface StreamReply extends MediaReply {
  stream: true;
}

/**
 * A streamed reply. If the source fails, the caller's connection is cut; if the caller disconnects, the
 * source is destroyed.
 */
export interface OutgoingFile {
  type: string;
  size?: number;
  body: Readable;
}
