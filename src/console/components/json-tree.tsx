import { useState } from "preact/hooks";
import { toJson } from "../app/json.ts";
import { texts } from "../texts.ts";
import { CodeBlock } from "./code.tsx";
import { copyText } from "./toast.tsx";

interface JsonViewProps {
  label: string;
  value: unknown;
}

/** JSON as a tree that can be collapsed, with a copy button for each value; or as raw text. */
export function JsonView({ label, value }: JsonViewProps) {
  const [isRaw, setRaw] = useState(false);
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>{label}</h2>
        <label class="switch">
          <input type="checkbox" checked={isRaw} onChange={() => setRaw(!isRaw)} />
          {texts.raw}
        </label>
      </div>
      {isRaw ? (
        <CodeBlock text={toJson(value, 2)} label={label} />
      ) : (
        <div class="tree">
          {isBranch(value) ? <Children of={value} depth={1} /> : <Leaf name="" value={value} />}
        </div>
      )}
    </section>
  );
}

/** Deeper levels are collapsed at first, and are made only when they are opened. */
const OPEN_LEVELS = 3;

/** A payload may have tens of thousands of values: the browser would hang. */
const SHOWN_CHILDREN = 100;

const isBranch = (value: unknown): value is object =>
  typeof value === "object" && value !== null && Object.keys(value).length > 0;

function Children({ of: value, depth }: { of: object; depth: number }) {
  const [limit, setLimit] = useState(SHOWN_CHILDREN);
  const entries = Object.entries(value);
  return (
    <ul>
      {entries.slice(0, limit).map(([name, child]) => (
        <li key={name}>
          {isBranch(child) ? (
            <Branch name={name} value={child} depth={depth} />
          ) : (
            <Leaf name={name} value={child} />
          )}
        </li>
      ))}
      {entries.length > limit && (
        <li>
          <button type="button" class="small" onClick={() => setLimit(limit + SHOWN_CHILDREN)}>
            {texts.showMore(entries.length - limit)}
          </button>
        </li>
      )}
    </ul>
  );
}

function Branch({ name, value, depth }: { name: string; value: object; depth: number }) {
  const [isOpen, setOpen] = useState(depth < OPEN_LEVELS);
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <span class="name">{name}</span> <span class="soft">{texts.size(value)}</span>
      </summary>
      {isOpen && <Children of={value} depth={depth + 1} />}
    </details>
  );
}

function Leaf({ name, value }: { name: string; value: unknown }) {
  const text = typeof value === "string" ? value : toJson(value);
  return (
    <span class="leaf">
      {name !== "" && <span class="name">{name}</span>}
      <button
        type="button"
        class={`value ${typeof value}`}
        title={texts.copy(name)}
        onClick={() => copyText(text, name)}
      >
        {typeof value === "string" ? toJson(value) : text}
      </button>
    </span>
  );
}
