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
