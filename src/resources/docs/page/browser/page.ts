import { element } from "../../../../http/views/browser/element.ts";
import { type ApiDocument, entriesOf, hashOf, withWebhookIds } from "./api-document.ts";
import { getJson, startCredentialForm } from "./credential.ts";
import { showMenu } from "./menu.ts";
import { withOwnIds } from "./own-examples.ts";
import { type Reference, showReference } from "./reference.ts";
import { byId, closeMenuOnPhone } from "./search.ts";

followColorScheme();
closeMenuOnPhone();
start().catch(() => {
  const text = "The API reference could not be loaded. Please try again in a moment.";
  byId("reference").replaceChildren(element("p", { class: "notice", role: "alert" }, text));
});

async function start(): Promise<void> {
  const apiDocument = withWebhookIds(await readDocument());
  const entries = entriesOf(apiDocument);
  labelControls(byId("reference"));
  let reference: Reference | undefined;

  showMenu({
    container: byId("entries"),
    entries,
    open(entry) {
      closeMenuOnPhone();
      reference?.open(entry);
    },
  });
  window.addEventListener("popstate", () => {
    const entry = entries.find((candidate) => hashOf(candidate) === location.hash);
    if (entry) reference?.open(entry);
  });
  await startCredentialForm({
    form: byId<HTMLFormElement>("credential-form"),
    field: byId<HTMLInputElement>("credential"),
    forget: byId<HTMLButtonElement>("forget"),
    status: byId("credential-status"),
    async use(credential) {
      const shown =
        credential === "" ? apiDocument : await withOwnIds(apiDocument, (path) => getJson(path, credential));
      reference = showReference(byId("reference"), shown, credential);
    },
  });
}

async function readDocument(): Promise<ApiDocument> {
  const reply = await fetch("openapi.json");
  if (!reply.ok) throw new Error(`GET openapi.json answered ${reply.status}`);
  return reply.json();
}

/** Swagger UI's dark style is a class and not a media query. */
function followColorScheme(): void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
  dark.addEventListener("change", apply);
  apply();
}

/** Attributes that Swagger UI's controls lack: a name for screen readers, and focus to scroll by keyboard. */
const MISSING_ATTRIBUTES: readonly [selector: string, attribute: string, value: string][] = [
  ["select.examples-select-element", "aria-label", "Example"],
  ["select:not([id], [aria-label])", "aria-label", "Value"],
  ["input[type=file]", "aria-label", "File"],
  ["textarea:not([aria-label])", "aria-label", "Request body"],
  ["pre", "tabindex", "0"],
];

/** Completes the controls of Swagger UI, also those that it adds later. */
function labelControls(container: HTMLElement): void {
  const complete = () => {
    for (const [selector, attribute, value] of MISSING_ATTRIBUTES)
      for (const control of container.querySelectorAll(`${selector}:not([${attribute}])`))
        control.setAttribute(attribute, value);
  };
  new MutationObserver(complete).observe(container, { childList: true, subtree: true });
  complete();
}
