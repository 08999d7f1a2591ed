import { signal } from "@preact/signals";

/** True while the list of keys is shown. */
export const isKeyHelpOpen = signal(false);

/** Marks the links of a list that j and k move between; Enter opens them as any link. */
export const ROW_LINK = "data-row-link";

/** Marks the field that / moves to. */
export const SEARCH_FIELD = "data-search-field";

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches("input:not([type=checkbox]), select, textarea");

function moveBetweenRows(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>(`[${ROW_LINK}]`)];
  const row = document.activeElement?.closest("tr");
  const present = links.findIndex((link) => link === document.activeElement || link.closest("tr") === row);
  const next = row && present >= 0 ? present + step : step === 1 ? 0 : links.length - 1;
  links[Math.min(Math.max(next, 0), links.length - 1)]?.focus();
}

const KEYS: Record<string, () => void> = {
  "/": () => document.querySelector<HTMLElement>(`[${SEARCH_FIELD}]`)?.focus(),
  j: () => moveBetweenRows(1),
  k: () => moveBetweenRows(-1),
  "?": () => {
    isKeyHelpOpen.value = true;
  },
};

/** Handles the keys of all screens. Call it once. */
export function startKeyboard(): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]") || !document.querySelector(`[${SEARCH_FIELD}]`)) return;
    const handle = KEYS[event.key];
    if (!handle) return;
    event.preventDefault();
    handle();
  });
}
