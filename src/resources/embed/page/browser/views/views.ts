import type { PageData } from "../../page-data.ts";
import type { View } from "../view.ts";
import type { Actions } from "./actions.ts";
import { choosingView } from "./choosing.ts";
import { blockedView, waitingView } from "./dialog.ts";
import { completedView, connectingView, endedView, loadingView } from "./passages.ts";
import { pinView } from "./pin.ts";
import { failedView, startView } from "./start.ts";

/** Creates the elements of a view. */
export function renderView(view: View, data: PageData, actions: Actions): Node[] {
  const { texts } = data;
  switch (view.name) {
    case "loading":
      return loadingView(texts);
    case "start":
      return startView(data, actions, view.notice);
    case "failed":
      return failedView(data, actions, view.failure);
    case "waiting":
      return waitingView(texts, actions, view.platform);
    case "blocked":
      return blockedView(texts, actions, view.url);
    case "connecting":
      return connectingView(texts);
    case "choosing":
      return choosingView(texts, actions, view);
    case "pin":
      return pinView(texts, actions, view.triesLeft);
    case "completed":
      return completedView(texts, view.account);
    case "expired":
    case "revoked":
      return endedView(texts[view.name]);
  }
}
