import { element } from "../../../../../http/views/browser/element.ts";
import type { Platform } from "../../../../../schema/enumerations.ts";
import type { PageData } from "../../page-data.ts";
import type { PageTexts } from "../../texts/shape.ts";
import { FOCUS_FIRST, heading, paragraph } from "../controls.ts";
import { platformIcon } from "../icons.ts";
import type { Failure } from "../state.ts";
import type { Notice } from "../view.ts";
import type { Actions } from "./actions.ts";

/** Offers the session's platforms. A notice says why the page is back at the start. */
export function startView(data: PageData, actions: Actions, notice: Notice | undefined): Node[] {
  const { start, notices } = data.texts;
  return [
    ...(notice ? [element("p", { class: "notice", ...FOCUS_FIRST }, notices[notice])] : []),
    heading(start.heading, notice ? {} : FOCUS_FIRST),
    paragraph(data.platforms.length > 1 ? `${start.choose} ${start.body}` : start.body),
    ...prefilledList(data),
    platformList(data, actions),
  ];
}

/** Explains the failure and offers the platforms for another try. */
export const failedView = (data: PageData, actions: Actions, failure: Failure): Node[] => [
  heading(data.texts.failed.heading),
  element("p", { class: "notice problem" }, explanationOf(data.texts, failure)),
  platformList(data, actions),
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
      element("dl", {}, ...rows),
    ),
  ];
}

const platformList = ({ platforms, texts }: PageData, actions: Actions): HTMLElement =>
  element(
    "div",
    { class: "platforms" },
    ...platforms.map((platform) => platformButton(platform, texts, actions)),
  );

function platformButton(platform: Platform, { platforms }: PageTexts, { connect }: Actions): HTMLElement {
  const { name, action } = platforms[platform];
  const button = element(
    "button",
    { type: "button", "data-platform": platform },
    platformIcon(platform),
    element("span", {}, element("strong", {}, action), element("small", {}, name)),
  );
  button.addEventListener("click", () => connect(platform));
  return button;
}

/** What a person can pass on to the support of the company that embeds the page. */
const failureDetails = ({ texts, session_id }: PageData, { code, message, step }: Failure): HTMLElement =>
  element(
    "details",
    {},
    element("summary", {}, texts.failed.details),
    paragraph(`${step}, ${code}: ${message}`),
    paragraph(session_id),
  );
