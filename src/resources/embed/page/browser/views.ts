import { element } from "../../../../http/views/browser/element.ts";
import type { Platform } from "../../../../schema/enumerations.ts";
import type { PageData, PageTexts, Passage } from "../page-data.ts";
import {
  type Actions,
  buttonRow,
  cancelButton,
  FOCUS_FIRST,
  heading,
  labelledText,
  paragraph,
  plainButton,
  platformIcon,
  progressList,
  successIcon,
} from "./controls.ts";
import { choosingView, pinView } from "./question-views.ts";
import type { Failure, Notice, View } from "./state.ts";

interface Situation {
  isOffline: boolean;
  isWindowLost: boolean;
}

interface Screen {
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
      const isAsking = view.name === "waiting" && situation.isWindowLost;
      status.classList.toggle("busy", BUSY_VIEWS.includes(view.name) && !isAsking);
    },
  };
}

function statusText(view: View, { isOffline, isWindowLost }: Situation, texts: PageTexts): string {
  if (isOffline) return texts.offline;
  if (view.name === "waiting") return isWindowLost ? texts.waiting.closed : texts.waiting.status;
  return view.name === "connecting" ? texts.connecting.status : "";
}

/** Creates the elements of a view. */
function renderView(view: View, data: PageData, actions: Actions): Node[] {
  const { texts } = data;
  switch (view.name) {
    case "loading":
      return loadingView(texts);
    case "start":
      return startView(data, actions, view.notice);
    case "failed":
      return failedView(data, actions, view);
    case "waiting":
      return waitingView(texts, actions, view.platform);
    case "blocked":
      return blockedView(texts, actions, view.url);
    case "connecting":
      return connectingView(texts);
    case "choosing":
      return choosingView(texts, actions, view);
    case "pin":
      return pinView(texts, actions, view);
    case "completed":
      return completedView(texts, view.account);
    case "expired":
    case "revoked":
      return endedView(texts[view.name]);
  }
}

/** Offers the session's platforms. A notice says why the page is back at the start. */
function startView(data: PageData, actions: Actions, notice: Notice | undefined): Node[] {
  const { start, notices } = data.texts;
  return [
    ...(notice ? [element("p", { class: "notice", ...FOCUS_FIRST }, notices[notice])] : []),
    heading(start.heading, notice ? {} : FOCUS_FIRST),
    paragraph(start.body),
    platformList(data, actions),
    ...prefilledList(data),
  ];
}

/** Explains the failure and offers another try. */
const failedView = (
  data: PageData,
  actions: Actions,
  { failure, platform }: Extract<View, { name: "failed" }>,
): Node[] => [
  heading(data.texts.failed.heading),
  element("p", { class: "notice problem" }, explanationOf(data.texts, failure)),
  platformList(data, actions, platform),
  failureDetails(data, failure),
];

const explanationOf = ({ failed }: PageTexts, { code, step }: Failure): string =>
  failed.codes[code] ?? failed.steps[step];

/** The dialog prefills these values for a phone number only. */
function prefilledList({ prefilled, platforms, texts }: PageData): Node[] {
  if (prefilled.length === 0 || !platforms.includes("chatapp")) return [];
  const rows = prefilled.map(({ label, value }) =>
    element("div", {}, element("dt", {}, label), element("dd", {}, value)),
  );
  return [
    element(
      "section",
      { class: "prefill" },
      element("h2", {}, texts.start.prefill),
      paragraph(texts.start.prefillUse, "quiet"),
      element("dl", {}, ...rows),
    ),
  ];
}

/** One button for each platform; the platform that has failed comes first. */
function platformList({ platforms, texts }: PageData, { connect }: Actions, failed?: Platform): HTMLElement {
  const ordered = failed ? [failed, ...platforms.filter((platform) => platform !== failed)] : platforms;
  const buttons = ordered.map((platform) => {
    const { name, action } = texts.platforms[platform];
    const text = platform === failed ? labelledText(texts.failed.retry, action) : labelledText(action, name);
    const isPrimary = platform === failed || platforms.length === 1;
    const attributes = { class: isPrimary ? "primary" : undefined, "data-platform": platform };
    const button = element("button", { type: "button", ...attributes }, platformIcon(platform), text);
    button.addEventListener("click", () => connect(platform));
    return button;
  });
  return element("div", { class: "platforms" }, ...buttons);
}

/** Details that a person can pass on to the support of the company that embeds the page. */
const failureDetails = ({ texts, session_id }: PageData, { code, message, step }: Failure): HTMLElement =>
  element(
    "details",
    {},
    element("summary", {}, texts.failed.details),
    paragraph(`${step}, ${code}: ${message}`),
    paragraph(session_id),
  );

/** Shown while the window is open, and when the page cannot tell whether it is: the person says so. */
function waitingView(texts: PageTexts, actions: Actions, platform: Platform): Node[] {
  const { waiting } = texts;
  return [
    progressList(texts, "access"),
    heading(waiting.heading),
    paragraph(waiting.body),
    buttonRow(
      plainButton({ label: waiting.reopen, action: "reopen", onClick: () => actions.connect(platform) }),
      cancelButton(waiting.iClosed, actions),
    ),
  ];
}

/** The browser blocked the popup: a link that the person clicks is not blocked. */
function blockedView(texts: PageTexts, actions: Actions, url: string): Node[] {
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
    buttonRow(cancelButton(cancel, actions)),
  ];
}

const loadingView = ({ start, loading }: PageTexts): Node[] => [heading(start.heading), paragraph(loading)];

const connectingView = (texts: PageTexts): Node[] => [
  progressList(texts, "connect"),
  heading(texts.connecting.heading),
  paragraph(texts.connecting.body),
];

const completedView = (texts: PageTexts, account: string | undefined): Node[] => [
  progressList(texts, "done"),
  successIcon(),
  heading(texts.completed.heading),
  ...(account === undefined ? [] : [element("p", {}, element("strong", {}, account))]),
  paragraph(texts.completed.body),
];

/** The link expired or was revoked while the page was open. */
const endedView = ({ heading: title, body }: Passage): Node[] => [heading(title), paragraph(body)];
