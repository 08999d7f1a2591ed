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
  const post = async (path: string, json: object = {}) => (await postJson(`${base}/${path}`, json)).json();
  return {
    markLoaded: () =>
      postJson(`${base}/loaded`, {}).catch((problem: unknown) => {
        if (!isStatus(problem, 404, 410)) throw problem;
      }),
    readState: async () => (await get(`${base}/state`)).json(),
    beginTry: (platform) => post("tries", { platform }),
    choose: (assetId) => post("choice", { asset_id: assetId }),
    submitPin: (pin) => post("pin", { pin }),
    cancel: () => post("cancel"),
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

const READ_TIMEOUT_MS = 15_000;
/** The server may wait for several calls to the platform before it answers. */
const WRITE_TIMEOUT_MS = 90_000;

const get = (url: string): Promise<Response> => send(url, { method: "GET" }, READ_TIMEOUT_MS);

export const postJson = (url: string, json: object): Promise<Response> =>
  send(url, { method: "POST", body: JSON.stringify(json) }, WRITE_TIMEOUT_MS);

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
