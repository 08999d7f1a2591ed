/** Resolves after the current turn of the event loop, when everything that settles in it has settled. */
export const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
