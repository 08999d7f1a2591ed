import { element } from "../../../../http/views/browser/element.ts";
import { type Entry, hashOf, WEBHOOKS_TAG } from "./api-document.ts";
import { startSearch } from "./search.ts";

interface MenuParts {
  container: HTMLElement;
  entries: readonly Entry[];
  open(entry: Entry): void;
}

/** Shows all entries by tag. A text in the search field reduces them. */
export function showMenu({ container, entries, open }: MenuParts): void {
  const show = (found: readonly Entry[] | undefined) =>
    container.replaceChildren(...groupsOf(found ?? entries, { expanded: found !== undefined, open }));
  startSearch({ load: async () => entries, textsOf, show, open });
  show(undefined);
}

export const textsOf = ({ summary, name, tag, id, method }: Entry) => ({
  titles: [summary, name],
  others: [tag, id, method],
});

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
