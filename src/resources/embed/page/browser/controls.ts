import { type Attributes, type Child, element } from "../../../../http/views/browser/element.ts";
import type { Platform } from "../../../../schema/enumerations.ts";
import type { PageTexts } from "../page-data.ts";

/** The actions of a person on the page. */
export interface Actions {
  /** Must be called in the click: it opens a window. */
  connect(platform: Platform): void;
  cancel(): void;
  choose(assetId: string): void;
  submitPin(pin: string): void;
}

/** Marks the element that receives the focus when its view is shown. */
export const FOCUS_FIRST = { "data-focus": true, tabindex: "-1" } as const;

export const heading = (text: string, attributes: Attributes = FOCUS_FIRST): HTMLElement =>
  element("h1", attributes, text);

export const paragraph = (text: string, className?: string): HTMLElement =>
  element("p", { class: className }, text);

/** A text with a smaller one below it. */
export const labelledText = (text: string, small?: string): HTMLElement =>
  element(
    "span",
    {},
    element("strong", {}, text),
    small === undefined ? undefined : element("small", {}, small),
  );

interface ButtonOptions {
  label: string;
  action: string;
  /** `quiet` looks like a link. */
  look?: "plain" | "quiet";
  onClick(): void;
}

/** A secondary button, named by `data-action`. */
export function plainButton({ label, action, look = "plain", onClick }: ButtonOptions): HTMLButtonElement {
  const button = element("button", { type: "button", class: look, "data-action": action }, label);
  button.addEventListener("click", onClick);
  return button;
}

/** The button that ends the running try. */
export const cancelButton = (label: string, { cancel }: Actions): HTMLButtonElement =>
  plainButton({ label, action: "cancel", look: "quiet", onClick: cancel });

export const buttonRow = (...buttons: HTMLButtonElement[]): HTMLElement =>
  element("div", { class: "actions" }, ...buttons);

/** The button that sends a form. */
export const confirmButton = (label: string): HTMLButtonElement =>
  element("button", { type: "submit", "data-action": "confirm" }, label);

/** A form that is handled by the script only. */
export function form(onSubmit: () => void, ...children: Child[]): HTMLFormElement {
  const created = element("form", { novalidate: true }, ...children);
  created.addEventListener("submit", (event) => {
    event.preventDefault();
    onSubmit();
  });
  return created;
}

/** Outlines on a grid of 24. */
const PLATFORM_PATHS: Readonly<Record<Platform, string>> = {
  chatapp: "M4 5h16v11H11l-5 4v-4H4z",
  photoapp: "M4 7h4l1.5-2h5L16 7h4v12H4zM12 16a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4z",
  socialapp: "M5 4h14v16H5zM8 8h8M8 12h8M8 16h5",
};

const SUCCESS_PATH = "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM8 12.5l2.7 2.7L16 9.8";

export const platformIcon = (platform: Platform): SVGElement => icon(PLATFORM_PATHS[platform], "icon");

export const successIcon = (): SVGElement => icon(SUCCESS_PATH, "icon success");

const NAMESPACE = "http://www.w3.org/2000/svg";

/** A decorative icon: the text beside it says the same. */
function icon(outline: string, className: string): SVGElement {
  const svg = document.createElementNS(NAMESPACE, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", className);
  const path = document.createElementNS(NAMESPACE, "path");
  path.setAttribute("d", outline);
  svg.append(path);
  return svg;
}

const STEPS = ["access", "connect", "done"] as const;
type ProgressStep = (typeof STEPS)[number];

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
