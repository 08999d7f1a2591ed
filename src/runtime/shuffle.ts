/** Returns a copy in random order; each order is equally likely (Fisher-Yates). */
export function shuffled<T>(items: readonly T[], random = Math.random): T[] {
  const copy = [...items];
  for (let last = copy.length - 1; last > 0; last--) {
    const chosen = Math.floor(random() * (last + 1));
    [copy[last], copy[chosen]] = [copy[chosen] as T, copy[last] as T];
  }
  return copy;
}
