import { element } from "../../../../http/views/browser/element.ts";
import { type ApiDocument, type Entry, hashOf } from "./api-document.ts";
import { isApiKey, serviceUrl } from "./credential.ts";

/** The parts of Swagger UI that the page uses. */
interface SwaggerUi {
  layoutActions: { show(key: readonly string[], isShown: boolean): void };
  preauthorizeApiKey(scheme: string, value: string): void;
}

declare const SwaggerUIBundle: (options: object) => SwaggerUi;

export interface Reference {
  open(entry: Entry): void;
}

type Component = (properties: { text?: string }) => unknown;

/** The system that Swagger UI passes to plugins. */
interface System {
  React: { createElement(name: string, properties: null, content?: string): unknown };
}

const PLUGIN = {
  fn: { resolveSubtree },
  wrapComponents: {
    // The page has its own field for the credential.
    authorizeBtn: () => () => null,
    authorizeOperationBtn: () => () => null,
    // Swagger UI puts links into buttons, which keyboards and screen readers cannot use.
    DeepLink:
      (_: Component, { React }: System): Component =>
      ({ text }) =>
        React.createElement("span", null, text),
  },
};

/** Shows the document in the container, in place of the document shown before. */
export function showReference(container: HTMLElement, document: ApiDocument, credential: string): Reference {
  const domNode = element("div", {});
  container.replaceChildren(domNode);
  const ui = SwaggerUIBundle({
    domNode,
    spec: { ...document, servers: [{ url: serviceUrl() }] },
    plugins: [PLUGIN],
    onComplete: () => authorize(ui, credential),
    deepLinking: true,
    displayRequestDuration: true,
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    tryItOutEnabled: true,
    validatorUrl: null,
  });
  return { open: (entry) => open(ui, container, entry) };
}

function authorize(ui: SwaggerUi, credential: string): void {
  if (credential !== "") ui.preauthorizeApiKey(isApiKey(credential) ? "apiKey" : "userJwt", credential);
}

/** Expands an operation, scrolls to it and moves the focus there. */
function open(ui: SwaggerUi, container: HTMLElement, entry: Entry): void {
  const find = (id: string) => container.querySelector<HTMLElement>(`[id="${CSS.escape(id)}"]`);
  // Each call of `show` adds an entry to the history, so that only what is collapsed is expanded.
  if (find(tagId(entry))?.dataset.isOpen === "false")
    ui.layoutActions.show(["operations-tag", entry.tag], true);
  if (!find(blockId(entry))?.classList.contains("is-open"))
    ui.layoutActions.show(["operations", entry.tag, entry.id], true);
  if (location.hash !== hashOf(entry)) history.pushState(null, "", hashOf(entry));
  requestAnimationFrame(() => {
    const block = find(blockId(entry));
    block?.scrollIntoView();
    block?.querySelector<HTMLElement>(".opblock-summary-control")?.focus({ preventScroll: true });
  });
}

/** The ids that Swagger UI gives to the elements of a tag and of an operation. */
const tagId = ({ tag }: Entry) => `operations-tag-${escapeName(tag)}`;
const blockId = ({ tag, id }: Entry) => `operations-${escapeName(tag)}-${escapeName(id)}`;
const escapeName = (name: string) => CSS.escape(name.trim().replace(/\s/g, "_"));

/**
 * Replaces Swagger UI's resolver, which parses the whole document at each click and takes seconds. The document refers
 * only to its own parts.
 */
export async function resolveSubtree(
  document: unknown,
  path: readonly string[],
): Promise<{ spec: unknown; errors: [] }> {
  const part = path.reduce<unknown>(childOf, document);
  return { spec: resolve(part, { document, parents: [] }), errors: [] };
}

interface Context {
  document: unknown;
  /** The references that lead to this part: one that repeats is a cycle and stays as it is. */
  parents: readonly string[];
}

function resolve(part: unknown, context: Context): unknown {
  if (Array.isArray(part)) return part.map((item) => resolve(item, context));
  if (typeof part !== "object" || part === null) return part;
  const { $ref, ...fields } = part as Record<string, unknown>;
  const resolved = Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, resolve(value, context)]),
  );
  if (typeof $ref !== "string") return resolved;
  if (context.parents.includes($ref)) return part;
  const target = resolve(lookUp(context.document, $ref), {
    ...context,
    parents: [...context.parents, $ref],
  });
  return { ...(target as object), ...resolved };
}

/** Follows a reference such as `#/components/schemas/ChannelDto`. */
const lookUp = (document: unknown, reference: string): unknown =>
  reference
    .slice("#/".length)
    .split("/")
    .map((name) => decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<unknown>(childOf, document);

const childOf = (parent: unknown, name: string): unknown =>
  (parent as Record<string, unknown> | undefined)?.[name];
