import type { ComponentChildren, InputHTMLAttributes } from "preact";
import { useId } from "preact/hooks";

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  children(attributes: { id: string; "aria-describedby"?: string }): ComponentChildren;
}

/** A label with its control, and a hint below. */
export function Field({ label, hint, children }: FieldProps) {
  const id = useId();
  const described = hint ? { "aria-describedby": `${id}-hint` } : {};
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, ...described })}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

export interface Option {
  value: string;
  label: string;
}

interface SelectProps {
  label: string;
  value: string;
  options: readonly Option[];
  hint?: ComponentChildren;
  onChange(value: string): void;
}

export const SelectField = ({ label, value, options, hint, onChange }: SelectProps) => (
  <Field label={label} hint={hint}>
    {(attributes) => (
      <select {...attributes} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    )}
  </Field>
);

interface TextProps {
  label: string;
  value: string;
  hint?: ComponentChildren;
  /** The rest of the attributes of the input. */
  input?: InputHTMLAttributes<HTMLInputElement>;
  isRequired?: boolean;
  isLong?: boolean;
  onInput(value: string): void;
}

export const TextField = ({ label, value, hint, onInput, isRequired, isLong, input }: TextProps) => (
  <Field label={label} hint={hint}>
    {(attributes) =>
      isLong ? (
        <textarea
          {...attributes}
          rows={4}
          required={isRequired}
          value={value}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      ) : (
        <input
          autoComplete="off"
          {...attributes}
          {...input}
          required={isRequired}
          spellcheck={false}
          value={value}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      )
    }
  </Field>
);

interface CheckProps {
  label: ComponentChildren;
  hint?: ComponentChildren;
  isChecked: boolean;
  isRequired?: boolean;
  onChange(isChecked: boolean): void;
}

/** A checkbox with its label beside it, and a hint below. */
export function CheckField({ label, hint, isChecked, isRequired, onChange }: CheckProps) {
  const id = useId();
  return (
    <div class="check-field">
      <input
        type="checkbox"
        id={id}
        aria-describedby={hint ? `${id}-hint` : undefined}
        checked={isChecked}
        required={isRequired}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}
