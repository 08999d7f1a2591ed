import { type Attributes, type Child, element } from "../../../../http/views/browser/element.ts";

/** Marks the element that receives the focus when its view is shown. */
export const FOCUS_FIRST = { "data-focus": true, tabindex: "-1" } as const;

export const heading = (text: string, attributes: Attributes = FOCUS_FIRST): HTMLElement =>
  element("h1", attributes, text);

export const paragraph = (text: string, className?: string): HTMLElement =>
  element("p", { class: className }, text);

interface ButtonOptions {
  label: string;
  action: string;
  onClick(): void;
}

/** A secondary button, named by `data-action`. */
export function plainButton({ label, action, onClick }: ButtonOptions): HTMLButtonElement {
  const button = element("button", { type: "button", class: "plain", "data-action": action }, label);
  button.addEventListener("click", onClick);
  return button;
}

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
