import { element } from "../../../../http/views/browser/element.ts";
import { byId, closeMenuOnPhone, startSearch } from "./search.ts";

closeMenuOnPhone();
scrollToCurrentDocument();
addCopyButtons();
startSearch({ load: loadPlaces, textsOf, show: showMatches, open: (match) => location.assign(match.href) });

/** The menu is longer than the window. */
function scrollToCurrentDocument(): void {
  const current = document.querySelector<HTMLElement>(".side [aria-current]");
  const side = current?.closest(".side");
  if (current && side) side.scrollTop = current.offsetTop - side.clientHeight / 3;
}

/** The browser has a clipboard for scripts only on HTTPS and on this machine. */
function addCopyButtons(): void {
  if (!navigator.clipboard) return;
  for (const block of document.querySelectorAll(".code")) {
    const button = element("button", { type: "button" }, "Copy");
    button.addEventListener("click", () => copy(block.querySelector("code")?.textContent ?? "", button));
    block.append(button);
  }
}

/** The button and the status show the result until the button loses the focus. */
async function copy(text: string, button: HTMLButtonElement): Promise<void> {
  const result = await navigator.clipboard.writeText(text).then(
    () => "Copied",
    () => "Not copied",
  );
  const show = (label: string, status: string) => {
    button.textContent = label;
    byId("copyStatus").textContent = status;
  };
  show(result, result);
  button.addEventListener("blur", () => show("Copy", ""), { once: true });
  button.focus(); // a click does not move the focus in every browser
}

/** An entry of the search index. */
interface IndexedDocument {
  path: string;
  title: string;
  /** Its headings, and the rows of its tables that are about one name. */
  places: readonly { id: string; text: string }[];
}

/** A place in a document, or the document itself. */
interface Match {
  href: string;
  text: string;
  title: string;
}

let places: Promise<Match[]> | undefined;

/** Loads the index at the first call. */
function loadPlaces(): Promise<Match[]> {
  places ??= readIndex();
  return places;
}

async function readIndex(): Promise<Match[]> {
  const reply = await fetch(document.querySelector<HTMLElement>("[data-index]")?.dataset.index as string);
  const documents = (await reply.json()) as IndexedDocument[];
  return documents.flatMap(({ path, title, places }) => [
    { href: path, text: title, title },
    ...places.map(({ id, text }) => ({ href: `${path}#${id}`, text, title })),
  ]);
}

function textsOf({ text, title }: Match) {
  return { titles: [text], others: [title] };
}

/** Shows the matches in place of the menu. */
function showMatches(found: readonly Match[] | undefined): void {
  const results = byId("searchResults");
  results.hidden = found === undefined;
  byId("allDocuments").hidden = found !== undefined;
  results.replaceChildren(...(found ?? []).map((match) => element("li", {}, linkTo(match))));
}

function linkTo({ href, text, title }: Match): HTMLElement {
  const link = element("a", { href }, text, title !== text && element("small", {}, title));
  link.addEventListener("click", closeMenuOnPhone);
  return link;
}
