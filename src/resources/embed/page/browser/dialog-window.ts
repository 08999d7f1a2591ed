import type { BegunTry } from "./embed-api.ts";

/** Browsers on phones ignore the size and open a tab. */
const WINDOW_FEATURES = "popup,width=600,height=760";

/** Short enough that the host learns at once that the person has closed the window. */
const WATCH_INTERVAL_MS = 250;

/** A dialog that isolates itself when it loads is seen in its window for a moment. */
const MIN_SIGHTINGS = 6;

export interface WindowEvents {
  /** The person has closed the window, or it closed itself after the dialog. */
  onClosed(): void;
  /** The window is closed, or the dialog has isolated itself from this page, which looks the same. */
  onLost(): void;
}

export interface DialogWindow {
  /** Ends its events, and closes the window while it is empty: only the person can close a page of the dialog. */
  close(): void;
}

interface LaunchedDialog {
  /** Null when the browser blocked the window. */
  dialog: DialogWindow | null;
  begun: Promise<BegunTry>;
}

/**
 * Opens the platform's dialog. The only place that knows how: a vendor's script would replace this function. Call it in
 * a click: browsers block a window that opens later, so it opens empty, before the try's address is known.
 */
export function launchDialog(
  begin: () => Promise<BegunTry>,
  openingText: string,
  events: WindowEvents,
): LaunchedDialog {
  const dialog = openWindow(openingText, events);
  const load = async () => {
    try {
      const begun = await begin();
      dialog?.load(begun.url);
      return begun;
    } catch (error) {
      dialog?.close();
      throw error;
    }
  };
  return { dialog, begun: load() };
}

interface OpenedWindow extends DialogWindow {
  load(url: string): void;
}

function openWindow(openingText: string, { onClosed, onLost }: WindowEvents): OpenedWindow | null {
  const popup = window.open("about:blank", "_blank", WINDOW_FEATURES);
  if (!popup || popup.closed) return null;
  popup.document.title = popup.document.body.textContent = openingText;
  let timer: ReturnType<typeof setInterval> | undefined;
  let isReleased = false;
  let sightings = 0;

  function watch(opened: Window): void {
    if (!opened.closed) {
      if (showsOtherOrigin(opened)) sightings += 1;
      return;
    }
    clearInterval(timer);
    if (sightings >= MIN_SIGHTINGS) onClosed();
    else onLost();
  }

  return {
    load(url) {
      if (isReleased) return;
      popup.opener = null; // the dialog must not be able to navigate this page
      popup.location.replace(url);
      timer = setInterval(watch, WATCH_INTERVAL_MS, popup);
    },
    close() {
      isReleased = true;
      clearInterval(timer);
      if (!showsOtherOrigin(popup)) popup.close();
    },
  };
}

function showsOtherOrigin({ location }: Window): boolean {
  try {
    return location.href === "";
  } catch {
    return true;
  }
}
