import type { Platform } from "../../../../schema/enumerations.ts";
import type { PageData } from "../page-data.ts";
import { createEmbedApi } from "./embed-api.ts";
import { createHostMessages, reportHeight, reportOutcome } from "./host-messages.ts";
import { launchDialog } from "./launch-dialog.ts";
import { createPoller } from "./poller.ts";
import { isStatus } from "./requests.ts";
import { createScreen } from "./screen.ts";
import { type EmbedState, isFinal, outcomeOf } from "./state.ts";
import { type LocalState, viewOf } from "./view.ts";

/**
 * Runs the page. A click begins a try or answers a question; polling brings everything else, until the session is
 * completed, expired or revoked. The server's state and the local state together decide the view.
 */
export function startSignupFlow(data: PageData): void {
  const api = createEmbedApi(data.token);
  const messages = createHostMessages(data);
  const screen = createScreen(data, {
    connect,
    cancel,
    choose: (assetId) => answer(() => api.choose(assetId)),
    submitPin: (pin) => answer(() => api.submitPin(pin)),
  });
  let state: EmbedState | undefined;
  let local: LocalState = {};
  let tryId: string | undefined; // the try whose outcome the host does not know yet
  let popup: Window | null = null;
  let isOffline = false;

  const show = () => screen.show(viewOf(state, local), { isOffline, isPopupClosed: popup?.closed ?? false });

  const poller = createPoller({
    read: readState,
    onValue: applyState,
    isRunning: () => local.starting !== undefined || Boolean(state?.try),
    onFailure(problem, failures) {
      if (isStatus(problem, 404)) return applyState({ status: "revoked", try: null });
      isOffline = failures > 1;
      show();
    },
  });

  async function readState(): Promise<EmbedState> {
    const [next] = await Promise.all([api.readState(), state ? undefined : api.markLoaded()]);
    return next;
  }

  function applyState(next: EmbedState): void {
    if (state && isFinal(state)) return;
    const isFirst = state === undefined;
    const outcome = outcomeOf(tryId, next);
    if (outcome) local = outcome === "cancelled" ? { notice: outcome } : {};
    state = next;
    tryId = next.try?.try_id;
    isOffline = false;
    show();
    if (isFirst) reportLoaded();
    if (outcome) reportOutcome(messages, outcome, next);
    if (isFinal(next)) endFlow();
  }

  function reportLoaded(): void {
    messages.post("loaded");
    reportHeight(messages);
  }

  function endFlow(): void {
    poller.stop();
    popup?.close();
  }

  async function connect(platform: Platform): Promise<void> {
    popup?.close();
    const launching = launchDialog(() => api.beginTry(platform), data.texts.loading);
    local = { starting: platform };
    show();
    try {
      const { try_id, url, ...launched } = await launching;
      popup = launched.popup;
      tryId = try_id;
      state = { status: "opened", try: { try_id, platform, phase: "dialog" } };
      local = popup ? {} : { blockedUrl: url };
    } catch (problem) {
      local = { notice: isStatus(problem, 409) ? "tooMany" : "unavailable" };
    }
    show();
    poller.pollNow();
  }

  async function cancel(): Promise<void> {
    popup?.close();
    applyAnswer(await api.cancel().catch(() => undefined));
  }

  async function answer(send: () => Promise<EmbedState>): Promise<void> {
    local = { isAnswering: true };
    show();
    const next = await send().catch(() => undefined);
    local = {};
    applyAnswer(next);
  }

  /** Polls after an answer that failed too: the state tells what became of it. */
  function applyAnswer(next: EmbedState | undefined): void {
    if (next) applyState(next);
    poller.pollNow();
  }

  show();
  poller.pollNow();
}
