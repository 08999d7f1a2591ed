/** Attributes that Swagger UI's controls lack: a name for screen readers, and focus to scroll by keyboard. */
const MISSING_ATTRIBUTES: readonly [selector: string, attribute: string, value: string][] = [
  ["select.examples-select-element", "aria-label", "Example"],
  ["select:not([id], [aria-label])", "aria-label", "Value"],
  ["input[type=file]", "aria-label", "File"],
  ["textarea:not([aria-label])", "aria-label", "Request body"],
  ["pre", "tabindex", "0"],
];

/** Completes the controls of Swagger UI, also those that it adds later. */
export function labelControls(container: HTMLElement): void {
  const complete = () => {
    for (const [selector, attribute, value] of MISSING_ATTRIBUTES)
      for (const control of container.querySelectorAll(`${selector}:not([${attribute}])`))
        control.setAttribute(attribute, value);
  };
  new MutationObserver(complete).observe(container, { childList: true, subtree: true });
  complete();
}
