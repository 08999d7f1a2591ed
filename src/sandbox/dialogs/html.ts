/** Markup that is safe to send: made by `html` only. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | Html | readonly Html[] | undefined;

const ENTITIES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escaped = (text: string) => text.replaceAll(/[&<>"']/g, (sign) => ENTITIES[sign] as string);

function written(part: Part): string {
  if (part === undefined) return "";
  if (typeof part === "string") return escaped(part);
  return part instanceof Html ? part.text : part.map(({ text }) => text).join("");
}

/** Whatever is put into the template is escaped, unless it is markup itself. Put values of attributes in double quotes. */
export const html = (texts: TemplateStringsArray, ...parts: Part[]): Html =>
  new Html(texts.map((text, index) => text + written(parts[index])).join(""));
