/** Looks up a key given by a caller. A plain lookup would also find inherited names such as `constructor`. */
export const ownProperty = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;
