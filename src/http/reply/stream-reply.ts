import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { isMediaType } from "../request/media-type.ts";
import type { OutgoingFile } from "./media-reply.ts";

/** A response that is ready to be written. */
export interface OutgoingReply {
  response: ServerResponse;
  headers: Record<string, string | number>;
  /** True for a HEAD request: headers without a body. */
  headOnly: boolean;
}

/** Why a streamed response was cut off: the caller disconnected or the source failed. */
export type StreamFailure = "caller_gone" | "source_broken";

/** `pipeline` adds seven to ours: with Node's limit of ten, each stream would print a warning. */
const MAX_CLOSE_LISTENERS = 20;

/**
 * Streams a file with backpressure. On failure the connection is cut, because a normal end would look
 * complete. The source's error is dropped: it may quote the request.
 */
export async function streamFile(
  { response, headers, headOnly }: OutgoingReply,
  { status, file: { type, size, body } }: { status: number; file: OutgoingFile },
): Promise<StreamFailure | undefined> {
  response.writeHead(status, {
    ...headers,
    "Content-Type": isMediaType(type) ? type : "application/octet-stream",
    ...(size === undefined ? {} : { "Content-Length": size }),
  });
  let failure: StreamFailure = "caller_gone";
  body.once("error", () => {
    if (!response.destroyed) failure = "source_broken";
  });
  if (headOnly) {
    body.destroy();
    response.end();
    return undefined;
  }
  response.setMaxListeners(MAX_CLOSE_LISTENERS);
  return pipeline(body, response).then(
    () => undefined,
    () => failure,
  );
}
