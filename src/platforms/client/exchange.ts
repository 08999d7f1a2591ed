import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import type { NoAnswer, NoSocket } from "./call.ts";

export interface HttpRequest {
  /** The client for whom the request is sent: the sockets to a host are shared between clients. */
  client?: string | undefined;
  method: "GET" | "POST" | "DELETE";
  url: URL;
  headers: Record<string, string>;
  body?: string | Readable | undefined;
  /** Milliseconds for the whole exchange, excluding `uploadTimeoutMs`. */
  deadline: number;
  /** Additional milliseconds for the body when the API's caller streams it. */
  uploadTimeoutMs?: number | undefined;
  /** Aborted when the answer is not needed any more; not for streamed bodies. */
  signal?: AbortSignal | undefined;
}

/** The result of one HTTP exchange. */
export type Exchange =
  | { outcome: "answered"; status: number; headers: IncomingHttpHeaders; text: string }
  | NoAnswer
  | NoSocket;

export interface Exchanges {
  run(request: HttpRequest): Promise<Exchange>;
  /** Resolves at the first bytes of the response; the caller reads the body. */
  open(request: HttpRequest): Promise<OpenExchange>;
  /** Closes the keep-alive connections. */
  close(): void;
}

export type OpenExchange =
  | { outcome: "answered"; status: number; headers: IncomingHttpHeaders; body: Readable }
  | NoAnswer
  | NoSocket;

/** Limits memory and parsing time per response; a page of 500 insights rows is far smaller. */
export const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

/** These errors precede the connection, although a runtime may report the connection first. */
export const NOT_SENT_CODES = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"]);
