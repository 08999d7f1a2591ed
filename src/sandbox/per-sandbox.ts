/**
 * Memory that belongs to one sandbox: made when it is first asked for, the same for its nodes, its doors and what arrives
 * from outside, and gone with it.
 */
export function perGround<T>(make: () => T): (ground: object) => T {
  const made = new WeakMap<object, T>();
  return (ground) => {
    const known = made.get(ground) ?? make();
    made.set(ground, known);
    return known;
  };
}
