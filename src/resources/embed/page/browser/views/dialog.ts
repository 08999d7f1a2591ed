import { element } from "../../../../../http/views/browser/element.ts";
import type { Platform } from "../../../../../schema/enumerations.ts";
import type { PageTexts } from "../../texts/shape.ts";
import { heading, paragraph, plainButton } from "../controls.ts";
import type { Actions } from "./actions.ts";
import { progressList } from "./progress.ts";

/**
 * The person is in the popup. The page cannot know whether it is closed, because a dialog that isolates itself looks
 * closed too. The person says so.
 */
export function waitingView(texts: PageTexts, actions: Actions, platform: Platform): Node[] {
  const { waiting } = texts;
  return [
    progressList(texts, "access"),
    heading(waiting.heading),
    paragraph(waiting.body),
    element(
      "div",
      { class: "actions" },
      plainButton({ label: waiting.reopen, action: "reopen", onClick: () => actions.connect(platform) }),
      plainButton({ label: waiting.iClosed, action: "cancel", onClick: actions.cancel }),
    ),
  ];
}

/** The browser blocked the popup: a link that the person clicks is not blocked. */
export function blockedView(texts: PageTexts, actions: Actions, url: string): Node[] {
  const { blocked, cancel } = texts;
  const link = {
    href: url,
    target: "_blank",
    rel: "noopener noreferrer",
    class: "button",
    "data-action": "open",
  };
  return [
    progressList(texts, "access"),
    heading(blocked.heading),
    paragraph(blocked.body),
    element("p", {}, element("a", link, blocked.open)),
    paragraph(blocked.hint, "quiet"),
    element(
      "div",
      { class: "actions" },
      plainButton({ label: cancel, action: "cancel", onClick: actions.cancel }),
    ),
  ];
}
