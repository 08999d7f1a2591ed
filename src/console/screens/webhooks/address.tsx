import { useRef, useState } from "preact/hooks";
import { useAction } from "../../app/loading.ts";
import { Question } from "../../components/dialog.tsx";
import { TextField } from "../../components/field.tsx";
import { ProblemNotice } from "../../components/notices.tsx";
import { showToast } from "../../components/toast.tsx";
import { webhooksTexts } from "../../texts/webhooks.ts";
import { changeConfig } from "./config.ts";
import { WaitingEvents } from "./waiting-events.tsx";

const words = webhooksTexts.address;

interface AddressProps {
  /** Empty while none is set. */
  url: string;
  onChange(): Promise<unknown>;
}

/** Sets the address to which events are sent, and removes it. */
export function Address({ url, onChange }: AddressProps) {
  const [typed, setTyped] = useState(url);
  const [sent, setSent] = useState("");
  const [isAsked, setAsked] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const wanted = typed.trim();
  const isNew = wanted !== "" && wanted !== url;
  const saving = useAction(async () => {
    setSent(wanted);
    const stored = await changeConfig({ webhook_url: wanted });
    setTyped(stored.webhook_url);
    showToast(words.saved);
    await onChange();
  });

  async function showRemoved(): Promise<void> {
    setAsked(false);
    setTyped("");
    showToast(words.remove.done);
    await onChange();
    form.current?.querySelector("input")?.focus(); // the button that had the focus is gone
  }

  return (
    <form
      ref={form}
      class="setting"
      onSubmit={(event) => {
        event.preventDefault();
        if (isNew) void saving.run();
      }}
    >
      <TextField
        label={words.label}
        hint={words.hint}
        input={{ inputMode: "url", placeholder: words.placeholder }}
        value={typed}
        onInput={setTyped}
      />
      {/* A refusal is about the text that was sent. */}
      {saving.problem && wanted === sent && <ProblemNotice problem={saving.problem} />}
      <div class="actions">
        <button type="submit" class="primary" aria-disabled={saving.isRunning || !isNew}>
          {words.save}
        </button>
        {url !== "" && (
          <button type="button" onClick={() => setAsked(true)}>
            {words.remove.action}
          </button>
        )}
      </div>
      {isAsked && <RemoveAddress onDone={showRemoved} onClose={() => setAsked(false)} />}
    </form>
  );
}

const RemoveAddress = ({ onDone, onClose }: { onDone(): Promise<void>; onClose(): void }) => (
  <Question
    title={words.remove.title}
    action={words.remove.action}
    act={async () => {
      await changeConfig({ webhook_url: "" });
      await onDone();
    }}
    onClose={onClose}
  >
    <p>{words.remove.consequence}</p>
    <WaitingEvents />
  </Question>
);
