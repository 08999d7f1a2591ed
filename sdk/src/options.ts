import type { HeraldError } from "./errors.ts";

/** Passed to `onRequest` before each attempt. It has neither the credential nor the body. */
export interface AttemptInfo {
  /** The operation of the API, such as `sendMessage`. */
  operation: string;
  method: string;
  path: string;
  /** Counted from 1. */
  attempt: number;
  idempotencyKey?: string;
}

/** Passed to `onResponse` after each attempt. */
export interface AttemptResult extends AttemptInfo {
  durationMs: number;
  /** Absent when no answer came. */
  status?: number;
  requestId?: string;
  error?: HeraldError;
}

export interface HeraldOptions {
  /** The address of the service, such as `https://herald.example.com`. */
  baseUrl: string;
  /** An API key, `svc_live_...` or `svc_test_...`. */
  apiKey?: string;
  /** The token of a user, instead of an API key: `herald.auth.login` returns one. */
  userToken?: string;
  /** Maximum number of further attempts after the first; by default 3. */
  maxRetries?: number;
  /** Maximum time of one attempt; by default 60 seconds, and 10 minutes for uploads and CSV. */
  timeoutMs?: number;
  /** Used instead of the global fetch. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Called before each attempt. If it throws, the call is rejected with its error. */
  onRequest?: (attempt: AttemptInfo) => void;
  /** Called after each attempt. It must not throw: a call that succeeded would be rejected. */
  onResponse?: (result: AttemptResult) => void;
}

/** Options of one request. They win over those of the `Herald` object. */
export interface RequestOptions {
  /** Cancels the request and its retries; the promise is rejected with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Maximum time of one attempt. */
  timeoutMs?: number | undefined;
  /** Maximum number of further attempts after the first. */
  maxRetries?: number | undefined;
}

/** Options of a request that is carried out only once, however often it is sent. */
export interface KeyedOptions extends RequestOptions {
  /** Identifies the operation, 1 to 255 visible ASCII characters. By default a UUID for each call. */
  idempotencyKey?: string | undefined;
}

/** Options of an upload. */
export interface FileOptions extends RequestOptions {
  /** The media type of the file; by default that of the Blob. */
  contentType?: string | undefined;
}

/** A file that can be sent again when an attempt fails. */
export type FileContent = Blob | Uint8Array;
