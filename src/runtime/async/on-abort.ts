const callbacksBySignal = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when the signal aborts; returns a function that cancels this. A signal has one listener for all its callbacks,
 * because removing a listener takes time in proportion to their number.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const callbacks = callbacksBySignal.get(signal) ?? listen(signal);
  callbacks.add(callback);
  return () => void callbacks.delete(callback);
}

function listen(signal: AbortSignal): Set<() => void> {
  const callbacks = new Set<() => void>();
  callbacksBySignal.set(signal, callbacks);
  const callAll = () => {
    for (const callback of callbacks) callback();
  };
  signal.addEventListener("abort", callAll, { once: true });
  return callbacks;
}
