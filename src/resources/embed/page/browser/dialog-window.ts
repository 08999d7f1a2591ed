import type { BegunTry } from "./embed-api.ts";

/** Browsers on phones ignore the size and open a tab. */
const WINDOW_FEATURES = "popup,width=600,height=760";

/** Short enough that the host learns at once that the person has closed the window. */
const WATCH_INTERVAL_MS = 250;

export interface WindowEvents {
  /** The person has closed the window, or it closed itself after the dialog. */
  onClosed(): void;
  /** The window is closed, or the dialog has isolated itself from this page, which looks the same. */
  onLost(): void;
}

export interface DialogWindow {
  close(): void;
}

interface LaunchedDialog extends BegunTry {
  /** Null when the browser blocked the window. */
  dialog: DialogWindow | null;
}

/**
 * Opens the platform's dialog. The only place that knows how: a vendor's script would replace this function. Call it in
 * a click: browsers block a window that opens later, so it opens empty, before the try's address is known.
 */
export async function launchDialog(
  begin: () => Promise<BegunTry>,
  openingText: string,
  events: WindowEvents,
): Promise<LaunchedDialog> {
  const opened = window.open("about:blank", "_blank", WINDOW_FEATURES);
  const popup = opened && !opened.closed ? opened : null;
  if (popup) popup.document.title = popup.document.body.textContent = openingText;
  try {
    const begun = await begin();
    if (!popup) return { ...begun, dialog: null };
    popup.opener = null; // the dialog must not be able to navigate this page
    popup.location.replace(begun.url);
    return { ...begun, dialog: watchWindow(popup, events) };
  } catch (error) {
    popup?.close();
    throw error;
  }
}

/** A dialog that isolates itself does so when it loads: a window that was seen with the dialog in it is closed later. */
function watchWindow(popup: Window, { onClosed, onLost }: WindowEvents): DialogWindow {
  let wasSeen = false;
  const timer = setInterval(() => {
    if (!popup.closed) {
      wasSeen ||= showsOtherOrigin(popup);
      return;
    }
    clearInterval(timer);
    if (wasSeen) onClosed();
    else onLost();
  }, WATCH_INTERVAL_MS);
  return {
    close() {
      clearInterval(timer);
      popup.close();
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
