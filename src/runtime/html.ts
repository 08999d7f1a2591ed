/** Markup that is safe to send: made by `html` and `trustedHtml` only. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Html | readonly Html[] | undefined;

const ENTITIES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escapeHtml = (text: string) => text.replaceAll(/[&<>"']/g, (sign) => ENTITIES[sign] as string);

function toMarkup(part: Part): string {
  if (part === undefined) return "";
  if (part instanceof Html) return part.text;
  return typeof part === "object" ? part.map(({ text }) => text).join("") : escapeHtml(String(part));
}

/** Whatever is put into the template is escaped, unless it is markup itself. Put values of attributes in quotes. */
export const html = (texts: TemplateStringsArray, ...parts: Part[]): Html =>
  new Html(texts.map((text, index) => text + toMarkup(parts[index])).join(""));

/** A constant of ours that goes in as it is: a style or a script. Never anything that came from outside. */
export const trustedHtml = (text: string): Html => new Html(text);
