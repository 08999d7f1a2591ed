import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { isMediaType } from "./request/media-type.ts";
import type { OutgoingFile } from "./route.ts";

/** An answer that is about to be written. */
export interface OutgoingReply {
  response: ServerResponse;
  headers: Record<string, string | number>;
  /** Whoever asks wants to know of it, not to have it. */
  headOnly: boolean;
}

/** Why an answer has no end: whoever asked has gone, or its source broke. */
export type StreamFailure = "caller_gone" | "source_broken";

/**
 * Hands a file on while it comes, as fast as the caller takes it. Where it breaks in the middle the connection is cut: a proper
 * end would say that this was all. The source's own error goes no further, for it may quote what it was asked with.
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
  return pipeline(body, response).then(
    () => undefined,
    () => failure,
  );
}
