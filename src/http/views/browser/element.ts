export type Child = Node | string | undefined | false;
export type Attributes = Readonly<Record<string, string | boolean | undefined>>;

/** Creates an element. `true` adds an attribute without a value; `false` and undefined omit it. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const created = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined && value !== false) created.setAttribute(name, value === true ? "" : value);
  created.append(...children.filter((child): child is Node | string => Boolean(child)));
  return created;
}
