/**
 * Returns state that belongs to one sandbox: created on first use, shared by its nodes, routes and webhooks,
 * and collected together with its context.
 */
export function perSandbox<T>(create: () => T): (context: object) => T {
  const instances = new WeakMap<object, T>();
  return (context) => {
    const instance = instances.get(context) ?? create();
    instances.set(context, instance);
    return instance;
  };
}
