import type { ComponentChildren } from "preact";

/** Names with their values, side by side; `rows` has one below the other. */
export const Facts = ({ layout, children }: { layout?: "rows"; children: ComponentChildren }) => (
  <dl class={layout ? `facts ${layout}` : "facts"}>{children}</dl>
);

interface FactProps {
  name: ComponentChildren;
  /** Takes a line of its own. */
  isWide?: boolean;
  children: ComponentChildren;
}

export const Fact = ({ name, isWide, children }: FactProps) => (
  <div class={isWide ? "wide" : undefined}>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);
