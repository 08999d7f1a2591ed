/** Inline code. */
export const code = (text: string): string => `\`${text}\``;

const escapeCell = (cell: string) => cell.replaceAll("|", "\\|").replaceAll("\n", " ");

/** A Markdown table. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const toLine = (cells: readonly string[]) => `| ${cells.map(escapeCell).join(" | ")} |`;
  return [toLine(head), `|${"---|".repeat(head.length)}`, ...rows.map(toLine)].join("\n");
}

/** Generated Markdown, keyed by the name in its marker `<!-- generated: name -->`. */
export type GeneratedParts = ReadonlyMap<string, string>;

const GENERATED_PART = /(<!-- generated: ([a-z-]+) -->\n).*?(<!-- end -->)/gs;

/** Replaces the text between the markers of a page. Throws for a name that does not exist. */
export function fillGenerated(page: string, parts: GeneratedParts): string {
  return page.replace(GENERATED_PART, (_match, begin: string, name: string, end: string) => {
    const part = parts.get(name);
    if (part === undefined) throw new Error(`there is no generated part ${name}`);
    return `${begin}${part}\n${end}`;
  });
}

export const generatedNames = (page: string): string[] =>
  [...page.matchAll(GENERATED_PART)].map(([, , name]) => name as string);
