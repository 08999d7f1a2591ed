import type { Platform } from "../../../../schema/enumerations.ts";
import type { PageData } from "../page-data.ts";
import { type DialogWindow, launchDialog, type WindowEvents } from "./dialog-window.ts";
import { createEmbedApi, isStatus, readData } from "./embed-api.ts";
import { createPoller } from "./poller.ts";
import {
  type EmbedState,
  isFinal,
  type LocalState,
  type Outcome,
  outcomeOf,
  viewOf,
  withoutClosedTry,
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
    connect: (platform) => (launch = connect(platform)),
    cancel,
    choose: (assetId) => answer(() => api.choose(assetId)),
    submitPin: (pin) => answer(() => api.submitPin(pin)),
  });
  let state: EmbedState | undefined;
  let local: LocalState = {};
  let tryId: string | undefined; // the try whose outcome the host does not know yet
  let dialog: DialogWindow | null = null;
  let launch: Promise<void> | undefined;
  let isWindowLost = false;
  let closedTryId: string | undefined; // the try whose window the person has closed
  let isOffline = false;

  const show = () => screen.show(viewOf(state, local), { isOffline, isWindowLost });

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

  function applyState(read: EmbedState): void {
    if (state && isFinal(state)) return;
    const next = withoutClosedTry(read, closedTryId);
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
    dialog?.close();
  }

  const windowEvents: WindowEvents = {
    onClosed() {
      closedTryId = tryId;
      poller.pollNow(); // the dialog may have led back before the window closed
    },
    onLost() {
      isWindowLost = true;
      show();
    },
  };

  async function connect(platform: Platform): Promise<void> {
    dialog?.close();
    const launched = launchDialog(() => api.beginTry(platform), data.texts.loading, windowEvents);
    dialog = launched.dialog;
    isWindowLost = false;
    local = { starting: platform };
    show();
    try {
      const { try_id, url } = await launched.begun;
      tryId = try_id;
      state = { status: "opened", try: { try_id, platform, phase: "dialog" } };
      local = launched.dialog ? {} : { blockedUrl: url };
    } catch (problem) {
      if (isStatus(problem, 404, 410))
        local = {}; // the next state says how the session has ended
      else local = { notice: isStatus(problem, 409) ? "tooMany" : "unavailable" };
    }
    show();
    poller.pollNow();
  }

  async function cancel(): Promise<void> {
    dialog?.close();
    await launch; // the try may not have begun yet
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
