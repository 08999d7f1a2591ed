import type { BegunTry } from "./embed-api.ts";

export interface LaunchedDialog extends BegunTry {
  /** Null when the browser blocked the window. */
  popup: Window | null;
}

/** Browsers on phones ignore the size and open a tab. */
const POPUP_FEATURES = "popup,width=600,height=760";

/**
 * Opens the platform's dialog. The only place that knows how: a vendor's script would replace this function. Call it in
 * a click: browsers block a window that opens later, so it opens empty, before the try's address is known.
 */
export async function launchDialog(
  begin: () => Promise<BegunTry>,
  openingText: string,
): Promise<LaunchedDialog> {
  const opened = window.open("about:blank", "_blank", POPUP_FEATURES);
  const popup = opened && !opened.closed ? opened : null;
  if (popup) popup.document.title = popup.document.body.textContent = openingText;
  try {
    const begun = await begin();
    if (popup) {
      popup.opener = null; // the dialog must not be able to navigate this page
      popup.location.replace(begun.url);
    }
    return { ...begun, popup };
  } catch (error) {
    popup?.close();
    throw error;
  }
}
