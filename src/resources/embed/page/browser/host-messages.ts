import type { PageData } from "../page-data.ts";
import type { EmbedState, Outcome } from "./state.ts";

type MessageType = "loaded" | "resize" | "completed" | "failed" | "cancelled";

type MessageDetails = Pick<EmbedState, "result" | "error"> & { height?: number };

export interface HostMessages {
  post(type: MessageType, details?: MessageDetails): void;
}

/** Messages to the page that embeds this one. The browser delivers them to the allowed origins only. */
export function createHostMessages(data: PageData): HostMessages {
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
export function reportOutcome(messages: HostMessages, outcome: Outcome, { result, error }: EmbedState): void {
  if (outcome === "completed" && result) messages.post(outcome, { result });
  else if (outcome === "failed" && error) messages.post(outcome, { error });
  else messages.post(outcome);
}

/** Reports the height of the content, so that the host can fit the frame to it. */
export function reportHeight(messages: HostMessages): void {
  let reported = 0;
  new ResizeObserver(() => {
    const height = Math.ceil(document.body.getBoundingClientRect().height);
    if (height === reported) return;
    reported = height;
    messages.post("resize", { height });
  }).observe(document.body);
}
