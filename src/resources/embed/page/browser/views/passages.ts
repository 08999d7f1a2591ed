import { element } from "../../../../../http/views/browser/element.ts";
import type { PageTexts, Passage } from "../../texts/shape.ts";
import { heading, paragraph } from "../controls.ts";
import { successIcon } from "../icons.ts";
import { progressList } from "./progress.ts";

export const loadingView = ({ start, loading }: PageTexts): Node[] => [
  heading(start.heading),
  paragraph(loading),
];

export const connectingView = (texts: PageTexts): Node[] => [
  progressList(texts, "connect"),
  heading(texts.connecting.heading),
  paragraph(texts.connecting.body),
];

export const completedView = (texts: PageTexts, account: string | undefined): Node[] => [
  progressList(texts, "done"),
  successIcon(),
  heading(texts.completed.heading),
  ...(account === undefined ? [] : [element("p", {}, element("strong", {}, account))]),
  paragraph(texts.completed.body),
];

/** The link expired or was revoked while the page was open. */
export const endedView = ({ heading: title, body }: Passage): Node[] => [heading(title), paragraph(body)];
