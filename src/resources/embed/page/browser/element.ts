type Child = Node | string | undefined | false;
type Attributes = Readonly<Record<string, string | boolean | undefined>>;

/** Creates an element. `true` adds an attribute without a value; `false` and undefined omit it. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const created = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined && value !== false) created.setAttribute(name, value === true ? "" : value);
  created.append(...children.filter((child): child is Node | string => Boolean(child)));
  return created;
}

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
