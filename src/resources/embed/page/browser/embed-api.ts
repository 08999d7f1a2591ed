import type { Platform } from "../../../../schema/enumerations.ts";
import { get, isStatus, postJson } from "./requests.ts";
import type { EmbedState } from "./state.ts";

export interface BegunTry {
  try_id: string;
  url: string;
}

/** Each rejects with an ApiProblem, or with the fault of a lost connection. */
export interface EmbedApi {
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
