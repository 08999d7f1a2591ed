import { element } from "../../../../http/views/browser/element.ts";
import { type ApiDocument, entriesOf, hashOf, withWebhookIds } from "./api-document.ts";
import { byId } from "./by-id.ts";
import { getJson } from "./credential.ts";
import { startCredentialForm } from "./credential-form.ts";
import { labelControls } from "./labels.ts";
import { showMenu } from "./menu.ts";
import { withOwnIds } from "./own-examples.ts";
import { type Reference, showReference } from "./reference.ts";

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
    field: byId<HTMLInputElement>("search"),
    status: byId("search-status"),
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
  await startCredentialForm(async (credential) => {
    const shown =
      credential === "" ? apiDocument : await withOwnIds(apiDocument, (path) => getJson(path, credential));
    reference = showReference(byId("reference"), shown, credential);
  });
}

async function readDocument(): Promise<ApiDocument> {
  const reply = await fetch("openapi.json");
  if (!reply.ok) throw new Error(`GET openapi.json answered ${reply.status}`);
  return reply.json();
}

/** On a phone the menu covers the reference, so that it closes when an entry is opened. */
function closeMenuOnPhone(): void {
  if (matchMedia("(max-width: 900px)").matches) byId<HTMLDetailsElement>("menu").open = false;
}

/** Swagger UI's dark style is a class and not a media query. */
function followColorScheme(): void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
  dark.addEventListener("change", apply);
  apply();
}
