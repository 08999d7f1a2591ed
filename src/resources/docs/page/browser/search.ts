/** The side column of the API reference and of the guides: a menu with a search field above it. */

/** The texts of an entry in which the search looks. */
interface Texts {
  /** An entry comes first when one of these begins with the first word. */
  titles: readonly string[];
  others: readonly string[];
}

interface SearchParts<T> {
  /** The entries, called whenever something is searched. */
  load(): Promise<readonly T[]>;
  textsOf(entry: T): Texts;
  /** Shows the matches; undefined when the field is empty. */
  show(found: readonly T[] | undefined): void;
  open(entry: T): void;
}

/** Shows the matches of the text in the search field. `/` moves the focus to it, Enter opens the first match. */
export function startSearch<T>({ load, textsOf, show, open }: SearchParts<T>): void {
  const field = byId<HTMLInputElement>("searchField");
  const status = byId("searchStatus");

  const isEmpty = () => field.value.trim() === "";
  async function update(): Promise<T | undefined> {
    const entries = isEmpty() ? [] : await load();
    const found = isEmpty() ? undefined : search(entries, field.value, textsOf); // the text may have changed
    show(found);
    status.textContent = found ? matchCount(found.length) : "";
    return found?.[0];
  }
  const updateOrReport = () =>
    update().catch(() => {
      status.textContent = "The search could not be loaded. Please reload the page.";
      return undefined;
    });

  field.addEventListener("input", updateOrReport);
  field.form?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const first = await updateOrReport();
    if (first) open(first);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || isTyping(event.target)) return;
    event.preventDefault();
    byId<HTMLDetailsElement>("sideMenu").open = true;
    field.focus();
    field.select();
  });
}

const matchCount = (count: number) => (count === 1 ? "1 match" : `${count === 0 ? "No" : count} matches`);

const isTyping = (target: EventTarget | null) =>
  target instanceof Element && target.matches("input, textarea, select, [contenteditable]");

/** Returns the entries that contain every word of the text, in any order; all entries for an empty text. */
export function search<T>(entries: readonly T[], text: string, textsOf: (entry: T) => Texts): T[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const [first] = words;
  const found = entries.filter((entry) => {
    const { titles, others } = textsOf(entry);
    const content = [...titles, ...others].join(" ").toLowerCase();
    return words.every((word) => content.includes(word));
  });
  if (first === undefined) return found;
  const begins = (entry: T) => textsOf(entry).titles.some((title) => title.toLowerCase().startsWith(first));
  return [...found.filter(begins), ...found.filter((entry) => !begins(entry))];
}

/** On a phone the menu is above the content, so that it closes when an entry is opened. */
export function closeMenuOnPhone(): void {
  if (matchMedia("(max-width: 900px)").matches) byId<HTMLDetailsElement>("sideMenu").open = false;
}

/** Returns the element of the page with this id. */
export function byId<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element ${id}`);
  return found as T;
}
