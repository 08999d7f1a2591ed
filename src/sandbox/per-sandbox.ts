/**
 * Memory that belongs to one sandbox: made when it is first asked for, the same for its nodes, its doors and what arrives
 * from outside, and gone with it.
 */
export function perSandbox<T>(create: () => T): (context: object) => T {
  const instances = new WeakMap<object, T>();
  return (context) => {
    const instance = instances.get(context) ?? create();
    instances.set(context, instance);
    return instance;
  };
}
