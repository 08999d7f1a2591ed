import type { Platform } from "../../../../schema/enumerations.ts";
import type { PageData } from "../page-data.ts";
import { type DialogWindow, launchDialog } from "./dialog-window.ts";
import { createEmbedApi, isStatus, readData } from "./embed-api.ts";
import { createPoller } from "./poller.ts";
import {
  advance,
  type EmbedState,
  isFinal,
  type LocalState,
  type Notice,
  type Outcome,
  type Progress,
  viewOf,
} from "./state.ts";
import { createScreen } from "./views.ts";

/**
 * Runs the page. A click begins a try or answers a question; polling brings everything else, until the session is
 * completed, expired or revoked. The server's state and the local state together decide the view.
 */
function startSignupFlow(data: PageData): void {
  const api = createEmbedApi(data.token);
  const messages = createHostMessages(data);
  const screen = createScreen(data, {
    connect,
    cancel,
    choose: (assetId) => answer(() => api.choose(assetId)),
    submitPin: (pin) => answer(() => api.submitPin(pin)),
  });
  let progress: Progress = {};
  let local: LocalState = { isWindowLost: true }; // the page has no window of a try that it did not begin
  let dialog: DialogWindow | null = null;
  let isOffline = false;

  const show = () => {
    const { isWindowLost = false } = local;
    screen.show(viewOf(progress.state, local), { isOffline, isWindowLost });
  };

  const poller = createPoller({
    read: readState,
    onValue: applyState,
    isRunning: () => local.starting !== undefined || progress.tryId !== undefined,
    onFailure(problem, failures) {
      if (isStatus(problem, 404)) return applyState({ status: "revoked", try: null });
      isOffline = failures > 1;
      show();
    },
  });

  async function readState(): Promise<EmbedState> {
    const [next] = await Promise.all([api.readState(), progress.state ? undefined : api.markLoaded()]);
    return next;
  }

  function applyState(read: EmbedState): void {
    const { state } = progress;
    if (state && isFinal(state)) return;
    const [next, outcome] = advance(progress, read);
    progress = next;
    if (outcome) local = outcome === "cancelled" ? { notice: outcome } : {};
    isOffline = false;
    show();
    if (!state) reportLoaded(messages);
    if (outcome) reportOutcome(messages, outcome, read);
    if (!isFinal(read)) return;
    poller.stop();
    dialog?.release();
  }

  /** The person has closed the window. The dialog may have led back before. */
  function closeTry(closedTryId: string): void {
    progress = { ...progress, closedTryId };
    poller.pollNow();
  }

  async function connect(platform: Platform): Promise<void> {
    dialog?.release();
    const launched = launchDialog(() => api.beginTry(platform), data.texts.loading, {
      onClosed: closeTry,
      onLost() {
        local = { ...local, isWindowLost: true };
        show();
      },
    });
    dialog = launched.dialog;
    local = { starting: platform };
    show();
    try {
      const { try_id: tryId, url } = await launched.begun;
      const state: EmbedState = { status: "opened", try: { try_id: tryId, platform, phase: "dialog" } };
      progress = { ...progress, state, tryId, reported: undefined };
      local = launched.dialog ? {} : { blockedUrl: url };
    } catch (problem) {
      local = { notice: noticeOf(problem) };
    }
    show();
    poller.pollNow();
  }

  /** A person who believes to have closed the window may still finish there: the server keeps the try until the next one. */
  async function cancel(): Promise<void> {
    dialog?.release();
    const { state, tryId: closedTryId } = progress;
    if (state?.try?.phase === "dialog" && closedTryId !== undefined && !local.starting)
      return closeTry(closedTryId);
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

/** Why no try has begun; undefined for a session that has ended, because its state tells how. */
function noticeOf(problem: unknown): Notice | undefined {
  if (isStatus(problem, 404, 410)) return undefined;
  return isStatus(problem, 409) ? "tooMany" : "unavailable";
}

type MessageType = "loaded" | "resize" | "completed" | "failed" | "cancelled";

type MessageDetails = Pick<EmbedState, "result" | "error"> & { height?: number };

interface HostMessages {
  post(type: MessageType, details?: MessageDetails): void;
}

/** Messages to the page that embeds this one. The browser delivers them to the allowed origins only. */
function createHostMessages(data: PageData): HostMessages {
  const { session_id, external_ref, allowed_origins } = data;
  return {
    post(type, details = {}) {
      if (window.parent === window) return;
      const message = { source: "svc-embed", version: 1, type, session_id, external_ref, ...details };
      for (const origin of allowed_origins) window.parent.postMessage(message, origin);
    },
  };
}

/** Reports how a try ended. */
function reportOutcome(messages: HostMessages, outcome: Outcome, { result, error }: EmbedState): void {
  if (outcome === "completed" && result) messages.post(outcome, { result });
  else if (outcome === "failed" && error) messages.post(outcome, { error });
  else messages.post(outcome);
}

function reportLoaded(messages: HostMessages): void {
  messages.post("loaded");
  reportHeight(messages);
}

/** Reports the height of the content, so that the host can fit the frame to it. */
function reportHeight(messages: HostMessages): void {
  let reported = 0;
  new ResizeObserver(() => {
    const height = Math.ceil(document.body.getBoundingClientRect().height);
    if (height === reported) return;
    reported = height;
    messages.post("resize", { height });
  }).observe(document.body);
}

startSignupFlow(readData<PageData>());
