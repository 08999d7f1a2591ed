/** Creates an element with attributes and content. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Record<string, string>,
  ...content: (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const created = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) created.setAttribute(attribute, value);
  created.append(...content);
  return created;
}

/** Returns the element of the page with this id. */
export function byId<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element ${id}`);
  return found as T;
}
