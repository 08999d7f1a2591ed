import { element } from "../../../../http/views/browser/element.ts";
import { type Entry, hashOf, WEBHOOKS_TAG } from "./api-document.ts";

interface MenuParts {
  container: HTMLElement;
  field: HTMLInputElement;
  /** Announces the number of matches to screen readers. */
  status: HTMLElement;
  entries: readonly Entry[];
  open(entry: Entry): void;
}

/** Shows all entries by tag. A text in the search field reduces them; Enter opens the first one. */
export function showMenu({ container, field, status, entries, open }: MenuParts): void {
  function update(): void {
    const [text, found] = [field.value.trim(), search(entries, field.value)];
    container.replaceChildren(...groupsOf(found, { expanded: text !== "", open }));
    status.textContent = text === "" ? "" : matchCount(found.length);
  }
  field.addEventListener("input", update);
  field.form?.addEventListener("submit", (event) => {
    event.preventDefault();
    const [first] = search(entries, field.value);
    if (first && field.value.trim() !== "") open(first);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || isTyping(event.target)) return;
    event.preventDefault();
    const menu = field.closest("details");
    if (menu) menu.open = true;
    field.focus();
    field.select();
  });
  update();
}

const matchCount = (count: number) => (count === 1 ? "1 match" : `${count === 0 ? "No" : count} matches`);

const isTyping = (target: EventTarget | null) =>
  target instanceof Element && target.matches("input, textarea, select, [contenteditable]");

interface GroupOptions {
  expanded: boolean;
  open(entry: Entry): void;
}

function groupsOf(entries: readonly Entry[], { expanded, open }: GroupOptions): HTMLElement[] {
  const tags = [...new Set(entries.map(({ tag }) => tag))];
  return tags.map((tag) => {
    const members = entries.filter((entry) => entry.tag === tag);
    const title = tag === WEBHOOKS_TAG ? "Event types" : tag;
    const links = element("ul", {}, ...members.map((entry) => element("li", {}, linkTo(entry, open))));
    const group = element("details", {}, element("summary", {}, title), links);
    group.open = expanded;
    return group;
  });
}

function linkTo(entry: Entry, open: (entry: Entry) => void): HTMLElement {
  const isEvent = entry.tag === WEBHOOKS_TAG;
  const method = element("span", { class: `method ${entry.method}` }, entry.method);
  const text = isEvent ? element("code", {}, entry.name) : entry.summary || entry.name;
  const link = element("a", { href: hashOf(entry), title: entry.name }, ...(isEvent ? [] : [method]), text);
  link.addEventListener("click", (event) => {
    event.preventDefault();
    open(entry);
  });
  return link;
}

/**
 * Returns the entries that contain every word of the text, in any order; all entries for an empty text. Entries whose
 * summary or name begins with the first word come first.
 */
export function search(entries: readonly Entry[], text: string): Entry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const [first] = words;
  const found = entries.filter((entry) => {
    const content = Object.values(entry).join(" ").toLowerCase();
    return words.every((word) => content.includes(word));
  });
  if (first === undefined) return found;
  const begins = ({ summary, name }: Entry) =>
    [summary, name].some((part) => part.toLowerCase().startsWith(first));
  return [...found.filter(begins), ...found.filter((entry) => !begins(entry))];
}
