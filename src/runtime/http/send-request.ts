import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import { onAbort } from "../async/timeouts-and-retries.ts";

export interface RequestLimits {
  /** Milliseconds for the whole request. */
  deadline: number;
  /** The request ends when the answer's body is longer. */
  maxBytes: number;
  /** Bytes at the beginning of the body that are kept; at least these. */
  keptBytes: number;
  signal?: AbortSignal | undefined;
}

/** The result of a request, as far as it is known when the request ends. */
export interface HttpResult {
  /** True when the request may have reached the server. */
  isSent: boolean;
  /** Null without an answer. */
  status: number | null;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** Why it ended early. */
  fault?: "timeout" | "aborted" | "too_large" | Error;
}

const NO_BYTES = Buffer.alloc(0);

/**
 * Sends one request and collects its answer; never rejects. Uses undici's callbacks: a stream for each answer and an
 * AbortController for each request would double the processor time.
 */
export const sendRequest = (
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  { deadline, maxBytes, keptBytes, signal }: RequestLimits,
): Promise<HttpResult> =>
  new Promise((resolve) => {
    const result: HttpResult = { isSent: false, status: null, headers: {}, body: NO_BYTES };
    if (signal?.aborted) return resolve({ ...result, fault: "aborted" });
    let controller: Dispatcher.DispatchController | undefined;
    let cancellation: Error | undefined;
    let bytesRead = 0;
    const chunks: Buffer[] = [];
    const end = (fault?: HttpResult["fault"]) => {
      clearTimeout(timer);
      stopListening?.();
      resolve({ ...result, body: Buffer.concat(chunks), ...(fault === undefined ? {} : { fault }) });
    };
    const cancel = (fault: "timeout" | "aborted" | "too_large") => {
      cancellation = new Error(fault);
      end(fault);
      controller?.abort(cancellation);
    };
    const timer = setTimeout(cancel, deadline, "timeout");
    const stopListening = signal && onAbort(signal, () => cancel("aborted"));
    dispatcher.dispatch(request, {
      onRequestStart(started) {
        controller = started;
        if (cancellation) return started.abort(cancellation); // cancelled while it waited for a connection
        result.isSent = true;
      },
      onResponseStart(_, status, headers) {
        if (status < 200) return; // informational
        Object.assign(result, { status, headers });
      },
      onResponseData(_, chunk) {
        if (bytesRead < keptBytes) chunks.push(chunk);
        bytesRead += chunk.length;
        if (bytesRead > maxBytes) cancel("too_large");
      },
      onResponseEnd: () => end(),
      onResponseError: (_, error) => end(error),
    });
  });
