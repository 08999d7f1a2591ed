import { useState } from "preact/hooks";
import { texts } from "../texts.ts";
import { Dialog } from "./dialog.tsx";
import { SelectField } from "./field.tsx";
import { copyText } from "./toast.tsx";

interface ShownSecretProps {
  title: string;
  /** What the secret is called in a sentence: "the key". */
  name: string;
  secret: string;
  /** Where it belongs, and since when it is used. */
  note: string;
  onClose(): void;
}

/** Shows a new secret, which Herald cannot show again. Only the button closes it, so that it is not lost by a click. */
export function ShownSecret({ title, name, secret, note, onClose }: ShownSecretProps) {
  const [isCopied, setCopied] = useState(false);
  return (
    <Dialog title={title} isBusy onClose={onClose}>
      <p>{note}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the secret can be selected by keyboard */}
      <section class="code secret" tabIndex={0} aria-label={name}>
        {secret}
      </section>
      <p class="soft">{texts.secret.once}</p>
      <div class="actions end">
        <button
          type="button"
          class={isCopied ? undefined : "primary"}
          onClick={async () => setCopied(await copyText(secret, name))}
        >
          {texts.copyButton}
        </button>
        <button type="button" class={isCopied ? "primary" : undefined} onClick={onClose}>
          {texts.secret.stored}
        </button>
      </div>
    </Dialog>
  );
}

interface GraceFieldProps {
  hint: string;
  minutes: number;
  onChange(minutes: number): void;
}

/** How long the former secret works beside the new one. */
export const GraceField = ({ hint, minutes, onChange }: GraceFieldProps) => (
  <SelectField
    label={texts.secret.grace}
    hint={hint}
    value={String(minutes)}
    options={texts.secret.graces.map(({ minutes, label }) => ({ value: String(minutes), label }))}
    onChange={(value) => onChange(Number(value))}
  />
);
