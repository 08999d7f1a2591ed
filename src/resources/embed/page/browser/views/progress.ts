import { element } from "../../../../../http/views/browser/element.ts";
import type { PageTexts } from "../../texts/shape.ts";

const STEPS = ["access", "connect", "done"] as const;
export type ProgressStep = (typeof STEPS)[number];

/** The three steps of a signup, with the current one marked. */
export function progressList({ progress }: PageTexts, current: ProgressStep): HTMLElement {
  const position = STEPS.indexOf(current);
  const items = STEPS.map((step, index) =>
    element(
      "li",
      {
        class: index < position || current === "done" ? "past" : undefined,
        "aria-current": index === position && "step",
      },
      progress[step],
    ),
  );
  return element("ol", { class: "progress", "aria-label": progress.label }, ...items);
}
