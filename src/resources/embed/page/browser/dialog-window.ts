import type { BegunTry } from "./embed-api.ts";

/**
 * The window of the platform's dialog:
 *
 * empty: it opens in the person's click, before the address of the try is known.
 * loaded: it shows the dialog, and this page cannot look into it.
 * closed: the person has closed it, or it has closed itself after the dialog.
 * lost: closed, or the dialog has isolated itself from this page while it loaded, which looks the same.
 */

/** Browsers on phones ignore the size and open a tab. */
const WINDOW_FEATURES = "popup,width=600,height=760";

/** Short enough that the host learns at once that the person has closed the window. */
const WATCH_INTERVAL_MS = 250;

/** A dialog that isolates itself while it loads looks closed after a few checks. */
const MIN_SIGHTINGS = 6;

export interface WindowEvents {
  onClosed(tryId: string): void;
  onLost(): void;
}

export interface DialogWindow {
  /** Ends its events, and closes the window while it is empty: only the person can close the dialog. */
  release(): void;
}

interface LaunchedDialog {
  /** Null when the browser blocked the window. */
  dialog: DialogWindow | null;
  begun: Promise<BegunTry>;
}

/**
 * Opens the platform's dialog. The only place that knows how: a vendor's script would replace this function. Call it in
 * a click: browsers block a window that opens later.
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
      dialog?.load(begun);
      return begun;
    } catch (error) {
      dialog?.release();
      throw error;
    }
  };
  return { dialog, begun: load() };
}

interface EmptyWindow extends DialogWindow {
  load(begun: BegunTry): void;
}

function openWindow(openingText: string, { onClosed, onLost }: WindowEvents): EmptyWindow | null {
  const popup = window.open("about:blank", "_blank", WINDOW_FEATURES);
  if (!popup || popup.closed) return null;
  popup.document.title = popup.document.body.textContent = openingText;
  let timer: ReturnType<typeof setInterval> | undefined;
  let isReleased = false;
  let sightings = 0;

  const check = (tryId: string) => {
    if (!popup.closed) {
      if (!isEmpty(popup)) sightings += 1;
      return;
    }
    clearInterval(timer);
    if (sightings >= MIN_SIGHTINGS) onClosed(tryId);
    else onLost();
  };

  return {
    load({ try_id, url }) {
      if (isReleased) return;
      if (popup.closed) return onClosed(try_id);
      popup.opener = null; // the dialog must not be able to navigate this page
      popup.location.replace(url);
      timer = setInterval(check, WATCH_INTERVAL_MS, try_id);
    },
    release() {
      isReleased = true;
      clearInterval(timer);
      if (isEmpty(popup)) popup.close();
    },
  };
}

/** False for a page of another origin, whose address cannot be read. */
function isEmpty({ location }: Window): boolean {
  try {
    return location.href === "about:blank";
  } catch {
    return false;
  }
}
