import { readdirSync } from "node:fs";
import { join } from "node:path";

/** Every page that a reader may open, README.md included. */
export const documentationPages = (root: string): string[] => [
  "README.md",
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md"))
    .sort()
    .map((path) => `docs/${path}`),
];

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

const [BEGIN, END] = ["<!-- generated: ", "<!-- end -->"];

/** Returns the text before the first marker, and for each part its name and the text from its end marker on. */
function splitAtMarkers(page: string) {
  const [before = "", ...sections] = page.split(BEGIN);
  const generated = sections.map((section) => {
    const [name = ""] = section.split(" ", 1);
    const end = section.indexOf(END);
    if (end < 0) throw new Error(`the generated part ${name} has no end`);
    return { name, rest: section.slice(end) };
  });
  return { before, generated };
}

/** Replaces the text between the markers of a page. Throws for a name that does not exist. */
export function fillGenerated(page: string, parts: GeneratedParts): string {
  const { before, generated } = splitAtMarkers(page);
  const filled = generated.map(({ name, rest }) => {
    const part = parts.get(name);
    if (part === undefined) throw new Error(`there is no generated part ${name}`);
    return `${BEGIN}${name} -->\n${part}\n${rest}`;
  });
  return [before, ...filled].join("");
}

export const generatedNames = (page: string): string[] =>
  splitAtMarkers(page).generated.map(({ name }) => name);
