/** A line of a table by a word from outside. A plain lookup would find `constructor` too, which every object has. */
export const ownProperty = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;
