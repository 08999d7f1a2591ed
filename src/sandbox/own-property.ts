/** A line of a table by a word from outside. A plain lookup would find `constructor` too, which every object has. */
export const own = <T>(table: Readonly<Record<string, T>>, word: string): T | undefined =>
  Object.hasOwn(table, word) ? table[word] : undefined;
