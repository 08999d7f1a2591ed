import { element } from "../../../../http/views/browser/element.ts";
import type { PageData } from "../page-data.ts";
import type { PageTexts } from "../texts/shape.ts";
import type { View } from "./view.ts";
import type { Actions } from "./views/actions.ts";
import { renderView } from "./views/views.ts";

export interface Situation {
  isOffline: boolean;
  isPopupClosed: boolean;
}

export interface Screen {
  /** Shows a view and announces progress. A view that is already shown keeps its fields and its focus. */
  show(view: View, situation: Situation): void;
}

const BUSY_VIEWS: readonly View["name"][] = ["loading", "waiting", "connecting"];

export function createScreen(data: PageData, actions: Actions): Screen {
  const content = element("div");
  const status = element("p", { id: "status", role: "status" });
  const page = document.getElementById("page") as HTMLElement;
  page.replaceChildren(content, status);
  let shown = "";
  let isUsed = false; // before the first click, the focus belongs to the host
  page.addEventListener("click", () => (isUsed = true), { capture: true });
  return {
    show(view, situation) {
      const key = JSON.stringify(view);
      if (key !== shown) {
        content.replaceChildren(...renderView(view, data, actions));
        if (isUsed) content.querySelector<HTMLElement>("[data-focus]")?.focus();
        shown = key;
      }
      const text = statusText(view, situation, data.texts);
      if (status.textContent !== text) status.textContent = text;
      status.classList.toggle("busy", BUSY_VIEWS.includes(view.name));
    },
  };
}

function statusText(view: View, { isOffline, isPopupClosed }: Situation, texts: PageTexts): string {
  if (isOffline) return texts.offline;
  if (view.name === "waiting") return isPopupClosed ? texts.waiting.closed : texts.waiting.status;
  return view.name === "connecting" ? texts.connecting.status : "";
}
