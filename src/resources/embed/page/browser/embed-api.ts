import type { Platform } from "../../../../schema/enumerations.ts";
import type { EmbedState } from "./state.ts";

export interface BegunTry {
  try_id: string;
  url: string;
}

/** Each rejects with an ApiProblem, or with the fault of a lost connection. */
interface EmbedApi {
  /** Succeeds for a session that has ended too: its state tells the person. */
  markLoaded(): Promise<unknown>;
  readState(): Promise<EmbedState>;
  beginTry(platform: Platform): Promise<BegunTry>;
  choose(assetId: string): Promise<EmbedState>;
  submitPin(pin: string): Promise<EmbedState>;
  cancel(): Promise<EmbedState>;
}

/** The routes of one session, beside the page itself. */
export function createEmbedApi(token: string): EmbedApi {
  const base = new URL(encodeURIComponent(token), location.href).href;
  const post = async (path: string, json: object = {}, timeoutMs = STEPS_TIMEOUT_MS) =>
    (await postJson(`${base}/${path}`, json, timeoutMs)).json();
  const inOrder = createSequence();
  return {
    markLoaded: () =>
      postJson(`${base}/loaded`, {}, TIMEOUT_MS).catch((problem: unknown) => {
        if (!isStatus(problem, 404, 410)) throw problem;
      }),
    readState: async () => (await get(`${base}/state`)).json(),
    beginTry: (platform) => inOrder(() => post("tries", { platform }, TIMEOUT_MS)),
    choose: (assetId) => post("choice", { asset_id: assetId }),
    submitPin: (pin) => post("pin", { pin }),
    cancel: () => inOrder(() => post("cancel", {}, TIMEOUT_MS)),
  };
}

/** Returns a function that sends each request after the one before: a cancellation must not overtake its try. */
function createSequence() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(send: () => Promise<T>): Promise<T> => {
    const sent = last.then(send, send);
    last = sent;
    return sent;
  };
}

/** An answer other than a success. */
export class ApiProblem extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`status ${status}`);
    this.status = status;
  }
}

export const isStatus = (problem: unknown, ...statuses: readonly number[]): boolean =>
  problem instanceof ApiProblem && statuses.includes(problem.status);

const TIMEOUT_MS = 15_000;
/** The server may wait for several calls to the platform before it answers. */
const STEPS_TIMEOUT_MS = 90_000;

const get = (url: string): Promise<Response> => send(url, { method: "GET" }, TIMEOUT_MS);

export const postJson = (url: string, json: object, timeoutMs = STEPS_TIMEOUT_MS): Promise<Response> =>
  send(url, { method: "POST", body: JSON.stringify(json) }, timeoutMs);

/** Sends no cookies. Throws an ApiProblem for an error status. */
async function send(url: string, init: RequestInit, timeoutMs: number): Promise<Response> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), timeoutMs);
  try {
    const response = await fetch(url, {
      ...init,
      headers: { accept: "application/json", "content-type": "application/json" },
      credentials: "omit",
      cache: "no-store",
      signal: timeout.signal,
    });
    if (!response.ok) throw new ApiProblem(response.status);
    return response;
  } finally {
    clearTimeout(timer);
  }
}

/** Reads the data that the server wrote into the page. */
export const readData = <T>(): T => JSON.parse(document.getElementById("data")?.textContent ?? "{}") as T;
