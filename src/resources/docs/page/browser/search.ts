import type { Entry } from "./api-document.ts";

/**
 * Returns the entries that contain every word of the text, in any order; all entries for an empty text. Entries whose
 * summary or name begins with the first word come first.
 */
export function search(entries: readonly Entry[], text: string): Entry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const [first] = words;
  const found = entries.filter((entry) => {
    const content = Object.values(entry).join(" ").toLowerCase();
    return words.every((word) => content.includes(word));
  });
  if (first === undefined) return found;
  const begins = ({ summary, name }: Entry) =>
    [summary, name].some((part) => part.toLowerCase().startsWith(first));
  return [...found.filter(begins), ...found.filter((entry) => !begins(entry))];
}
