import { shortId } from "../app/format.ts";
import { texts } from "../texts.ts";
import { copyText } from "./toast.tsx";

/** An id, shortened in the middle; a click copies it whole. */
export const Id = ({ id }: { id: string }) => (
  <button type="button" class="id" title={texts.copy(id)} onClick={() => copyText(id, texts.theId)}>
    <code>{shortId(id)}</code>
  </button>
);

/** A block of text in a fixed font, with a button that copies it. */
export const CodeBlock = ({ text, label }: { text: string; label: string }) => (
  <div class="code-block">
    <button type="button" class="quiet small" onClick={() => copyText(text, label)}>
      {texts.copyButton}
    </button>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long block scrolls by keyboard */}
    <section class="code" tabIndex={0} aria-label={label}>
      {text}
    </section>
  </div>
);
