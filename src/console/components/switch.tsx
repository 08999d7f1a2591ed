import type { ComponentChildren } from "preact";

interface SwitchProps {
  isOn: boolean;
  isBusy: boolean;
  /** Its name and state. */
  children: ComponentChildren;
  onChange(isOn: boolean): void;
}

/** A switch of something that the server keeps. It moves when the server has answered. */
export const Switch = ({ isOn, isBusy, children, onChange }: SwitchProps) => (
  <label class="switch">
    <input
      type="checkbox"
      role="switch"
      aria-checked={isOn}
      aria-disabled={isBusy}
      checked={isOn}
      onClick={(event) => {
        event.preventDefault();
        onChange(!isOn);
      }}
    />
    {children}
  </label>
);
