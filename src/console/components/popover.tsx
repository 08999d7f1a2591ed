import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface PopoverProps {
  /** The class of the whole, which places the popover. */
  class: string;
  /** What opens it. */
  label: string;
  children: ComponentChildren;
}

/** A button that opens a list of links and actions. Each of these, a click elsewhere and Esc close it. */
export function Popover({ class: name, label, children }: PopoverProps) {
  const element = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      const isInside = event.target instanceof Node && element.current?.contains(event.target);
      const isAction = event.target instanceof Element && event.target.closest("a, button");
      if (element.current && (!isInside || isAction)) element.current.open = false;
    };
    document.addEventListener("click", close);
    return () => document.removeEventListener("click", close);
  }, []);
  return (
    <details
      class={name}
      ref={element}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.currentTarget.open = false;
        event.currentTarget.querySelector("summary")?.focus();
      }}
    >
      <summary>{label}</summary>
      <div class="popover">{children}</div>
    </details>
  );
}
