import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { texts } from "../texts.ts";

interface HeadingProps {
  title: string;
  /** The list that the screen belongs to. */
  parent?: { title: string; href: string };
  /** Shown instead of the title, for example an id that can be copied. */
  children?: ComponentChildren;
  actions?: ComponentChildren;
}

/** The title of a screen, with its actions. It is the title of the window too. */
export function Heading({ title, parent, children, actions }: HeadingProps) {
  useEffect(() => {
    document.title = texts.windowTitle(title);
  }, [title]);
  return (
    <div class="heading">
      <h1>
        {parent && (
          <>
            <a href={parent.href}>{parent.title}</a> <span aria-hidden="true">/</span>{" "}
          </>
        )}
        {children ?? title}
      </h1>
      {actions && <div class="actions">{actions}</div>}
    </div>
  );
}
