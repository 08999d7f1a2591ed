import { posix } from "node:path";
import { marked, Renderer, type Tokens } from "marked";
import { type Html, html, trustedHtml } from "../../src/runtime/http/html.ts";
import type { GuideFile } from "./files.ts";

export interface Heading {
  level: number;
  id: string;
  text: string;
}

/** A row of a table that is about one name, such as an error code or a setting. */
export interface NamedRow {
  id: string;
  text: string;
}

export interface RenderedMarkdown {
  html: string;
  headings: readonly Heading[];
  namedRows: readonly NamedRow[];
}

interface MarkdownDocument {
  /** Its path in the repository and on the service. */
  path: string;
  text: string;
}

/** The targets of links and images, by their paths in the repository. */
export interface LinkTargets {
  isPage(path: string): boolean;
  /** A file that is not Markdown; undefined when it does not exist. */
  fileAt(path: string): GuideFile | undefined;
}

/** Renders a document. Throws for raw HTML, and for a link to a file that is not served. */
export function renderMarkdown(document: MarkdownDocument, targets: LinkTargets): RenderedMarkdown {
  const renderer = new GuideRenderer(document.path, targets);
  const html = marked.parse(document.text, { async: false, renderer });
  return { html, headings: renderer.headings, namedRows: renderer.namedRows };
}

class GuideRenderer extends Renderer {
  readonly headings: Heading[] = [];
  readonly namedRows: NamedRow[] = [];
  readonly #path: string;
  readonly #targets: LinkTargets;
  readonly #nextId = uniqueNames("-");
  readonly #nextTableName = uniqueNames(", ");

  constructor(path: string, targets: LinkTargets) {
    super();
    this.#path = path;
    this.#targets = targets;
  }

  override heading({ tokens, depth }: Tokens.Heading): string {
    const text = this.parser.parseInline(tokens, this.parser.textRenderer);
    const id = this.#nextId(anchorOf(text));
    this.headings.push({ level: depth, id, text });
    const content = this.parser.parseInline(tokens);
    const linked = depth === 1 ? content : `<a href="#${id}">${content}</a>`;
    return `<h${depth} id="${id}">${linked}</h${depth}>\n`;
  }

  override code({ text, lang = "" }: Tokens.Code): string {
    return html`<div class="code"><pre tabindex="0"><code class="language-${lang}">${text}</code></pre></div>\n`
      .text;
  }

  /** A wide table scrolls in its region. Regions need different names. On a phone each cell shows the name of its column. */
  override table({ header, rows }: Tokens.Table): string {
    const name = this.#nextTableName(`Table: ${this.headings.at(-1)?.text}`);
    const columns = header.map(({ tokens }) => this.parser.parseInline(tokens, this.parser.textRenderer));
    const row = (cells: readonly Tokens.TableCell[]) =>
      html`<tr${this.#rowId(cells)}>${cells.map((cell, at) => html`<td${columns[at] && html` data-column="${columns[at]}"`}>${this.#content(cell)}</td>\n`)}</tr>\n`;
    return html`<div class="table" role="region" aria-label="${name}" tabindex="0"><table>
<thead><tr>${header.map((cell) => this.#headerCell(cell))}</tr></thead>
<tbody>
${rows.map(row)}</tbody>
</table></div>
`.text;
  }

  /** An empty cell names no column. */
  #headerCell(cell: Tokens.TableCell): Html {
    return cell.tokens.length > 0 ? html`<th>${this.#content(cell)}</th>\n` : html`<td></td>\n`;
  }

  #content({ tokens }: Tokens.TableCell): Html {
    return trustedHtml(this.parser.parseInline(tokens));
  }

  /** The first cell with nothing but a name in code names the row. Ids of headings have no point. */
  #rowId(cells: readonly Tokens.TableCell[]): Html | undefined {
    const name = cells.find(({ text }) => /^`[\w.:-]+`$/.test(text))?.text.slice(1, -1);
    if (name === undefined) return undefined;
    const id = this.#nextId(`${this.headings.at(-1)?.id}.${name}`);
    this.namedRows.push({ id, text: name });
    return html` id="${id}"`;
  }

  override link({ href, tokens }: Tokens.Link): string {
    return html`<a ${this.#target(href)}>${trustedHtml(this.parser.parseInline(tokens))}</a>`.text;
  }

  override image({ href, text }: Tokens.Image): string {
    const file = this.#fileAt(href);
    return html`<img src="${file.href}" alt="${text}" width="${file.width}" height="${file.height}" loading="lazy">`
      .text;
  }

  override html({ text }: Tokens.HTML | Tokens.Tag): string {
    if (/^<!--[^>]*-->\s*$/.test(text)) return "";
    throw new Error(`${this.#path}: raw HTML is not rendered: ${text.trim()}`);
  }

  /** The attributes of a link. */
  #target(href: string): Html {
    if (href.startsWith("https://") || href.startsWith("#")) return html`href="${href}"`;
    const [path = "", anchor = ""] = href.split(/(?=#)/);
    const target = this.#resolve(path);
    if (this.#targets.isPage(target)) return html`href="${target.replace(/\.md$/, "")}${anchor}"`;
    return html`href="${this.#fileAt(href).href}" download="${posix.basename(target)}"`;
  }

  #fileAt(href: string): GuideFile {
    const file = this.#targets.fileAt(this.#resolve(href));
    if (!file) throw new Error(`${this.#path}: the link ${href} leads to no file that is served`);
    return file;
  }

  #resolve(href: string): string {
    return posix.join(posix.dirname(this.#path), href);
  }
}

/** The anchor that Git hosts give to a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(" ", "-");

/** Returns a function that appends a number to each name that it has returned before. */
function uniqueNames(separator: string): (name: string) => string {
  const used = new Set<string>();
  return (name) => {
    let unique = name;
    for (let count = 1; used.has(unique); count++) unique = `${name}${separator}${count}`;
    used.add(unique);
    return unique;
  };
}
