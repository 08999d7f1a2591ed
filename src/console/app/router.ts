import { computed, signal } from "@preact/signals";

/** A screen of the console. `:id` in a path matches one segment. */
export interface Route<Screen> {
  path: string;
  screen: Screen;
}

export interface Match<Screen> {
  screen: Screen;
  params: Readonly<Record<string, string>>;
}

/** The state of a list: its filters and its cursor, as they are in the address. */
export type Query = Readonly<Record<string, string>>;

const current = signal(new URL(location.href));

export const path = computed(() => current.value.pathname.replace(/\/$/, ""));
export const query = computed<Query>(() => Object.fromEntries(current.value.searchParams));

/** Returns the first route that matches; list routes without parameters first. */
export function matchRoute<Screen>(
  routes: readonly Route<Screen>[],
  pathname: string,
): Match<Screen> | undefined {
  const segments = pathname.split("/");
  for (const { path, screen } of routes) {
    const params = matchSegments(path.split("/"), segments);
    if (params) return { screen, params };
  }
  return undefined;
}

function matchSegments(pattern: readonly string[], segments: readonly string[]) {
  if (pattern.length !== segments.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    const segment = decodeSegment(segments[index] ?? "");
    if (part.startsWith(":")) params[part.slice(1)] = segment;
    else if (part !== segment) return undefined;
  }
  return params;
}

/** A segment that is not valid percent-encoding is taken as it is: the screen then finds nothing by it. */
function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Builds an address. Parameters without a value are left out. */
export function hrefOf(pathname: string, parameters: Record<string, string | undefined> = {}): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const search = new URLSearchParams(given).toString();
  return search === "" ? pathname : `${pathname}?${search}`;
}

export function navigate(href: string, { replace = false } = {}): void {
  if (!replace) history.replaceState({ scrollY }, "");
  history[replace ? "replaceState" : "pushState"](null, "", href);
  current.value = new URL(location.href);
  if (!replace) scrollTo(0, 0);
}

/** Where the list was when the person left it; undefined once it is there again. */
let formerScrollY: number | undefined;

/** Scrolls to where the person was before, once the rows are there. */
export function restoreScroll(): void {
  if (formerScrollY !== undefined) scrollTo(0, formerScrollY);
  formerScrollY = undefined;
}

let holds = 0;

/** Keeps the person on the screen, because it shows or waits for what cannot be shown again. Returns what ends that. */
export function holdScreen(): () => void {
  const ask = (event: Event) => event.preventDefault(); // the browser asks before it leaves the document
  holds += 1;
  addEventListener("beforeunload", ask);
  return () => {
    holds -= 1;
    removeEventListener("beforeunload", ask);
  };
}

/** Follows links within the console without a new document. Call it once. */
export function startRouter(): void {
  history.scrollRestoration = "manual"; // the browser would scroll before the rows are loaded
  addEventListener("popstate", ({ state }) => {
    if (holds > 0) return history.pushState(null, "", current.value);
    formerScrollY = (state as { scrollY?: number } | null)?.scrollY;
    current.value = new URL(location.href);
  });
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link || event.defaultPrevented || event.button !== 0 || link.target !== "") return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    if (link.origin !== location.origin || !/^\/console(\/|$)/.test(link.pathname) || link.hash !== "")
      return;
    event.preventDefault();
    navigate(link.href);
  });
}
