import { signal } from "@preact/signals";
import type { Problem } from "../app/api.ts";
import { texts } from "../texts.ts";

interface Toast {
  text: string;
  isProblem: boolean;
}

const toast = signal<Toast | undefined>(undefined);
const SHOWN_MS = 5_000;
let timer: ReturnType<typeof setTimeout> | undefined;

function show(shown: Toast, ms: number): void {
  clearTimeout(timer);
  toast.value = shown;
  timer = setTimeout(() => {
    toast.value = undefined;
  }, ms);
}

/** Reports briefly what has happened. */
export const showToast = (text: string): void => show({ text, isProblem: false }, SHOWN_MS);

export const showProblemToast = ({ message, requestId }: Problem): void =>
  show({ text: requestId ? `${message} (${requestId})` : message, isProblem: true }, 2 * SHOWN_MS);

/** Copies a text and says so. Returns false when the browser does not allow it. */
export async function copyText(text: string, name: string): Promise<boolean> {
  const isCopied = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  );
  showToast(isCopied ? texts.copied(name) : texts.notCopied);
  return isCopied ?? false;
}

/** The place of toasts; there is one. Screen readers read it out. */
export const ToastPlace = () => (
  <div class="toast-place" role="status">
    {toast.value && <p class={toast.value.isProblem ? "toast bad" : "toast"}>{toast.value.text}</p>}
  </div>
);
