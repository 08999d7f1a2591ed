import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Problem } from "../app/api.ts";
import { useAction } from "../app/loading.ts";
import { holdScreen } from "../app/router.ts";
import { texts } from "../texts.ts";
import { ProblemNotice } from "./notices.tsx";

interface DialogProps {
  title: string;
  /** True while it must stay: what was begun cannot be taken back. */
  isBusy?: boolean | undefined;
  onClose(): void;
  children: ComponentChildren;
}

/** A modal dialog while it is rendered. Esc and a click beside it close it. */
export function Dialog({ title, isBusy, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const isShown = useRef(true);
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => {
      isShown.current = false;
      dialog?.close(); // the browser returns the focus to where it was
    };
  }, []);
  useLayoutEffect(() => (isBusy ? holdScreen() : undefined), [isBusy]);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Esc closes the dialog
    <dialog
      ref={element}
      aria-labelledby="dialog-title"
      // A second Esc closes a dialog even if the first was refused. The event comes later: another dialog may be shown by then.
      onClose={() => isShown.current && (isBusy ? element.current?.showModal() : onClose())}
      onCancel={(event) => isBusy && event.preventDefault()}
      onClick={(event) => !isBusy && event.target === element.current && element.current?.close()}
    >
      <div class="dialog-body">
        <h2 id="dialog-title">{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

interface QuestionProps {
  title: string;
  /** What happens after the answer yes. */
  children: ComponentChildren;
  /** The verb on the button; undefined while the answer yes is not possible. */
  action: string | undefined;
  /** The words on the button that takes nothing on; "Cancel" unless the action itself cancels something. */
  refusal?: string;
  /** Does it, and closes the question or leaves the screen afterwards. */
  act: Parameters<typeof useAction>[0];
  /** What to say about a failure beyond its message. */
  problemNote?(problem: Problem): ComponentChildren;
  onClose(): void;
}

/** Asks before an action, with its consequence, and stays while the action runs and when it has failed. */
export function Question({ title, children, action, refusal = texts.cancel, act, ...rest }: QuestionProps) {
  const { problemNote, onClose } = rest;
  const { isRunning, problem, run } = useAction(act);
  return (
    <Dialog title={title} isBusy={isRunning} onClose={onClose}>
      {children}
      {problem && <ProblemNotice problem={problem} />}
      {problem && problemNote?.(problem)}
      <div class="actions end">
        <button type="button" class="quiet" disabled={isRunning} onClick={onClose}>
          {refusal}
        </button>
        {action !== undefined && (
          <button type="button" class="primary" aria-disabled={isRunning} onClick={run}>
            {action}
          </button>
        )}
      </div>
    </Dialog>
  );
}
