const DEFAULT_RATIO = 0.2;

/** Varies a delay by up to `ratio` in both directions, so that calls that failed together are not retried together. */
export const jittered = (delayMs: number, ratio = DEFAULT_RATIO, random = Math.random): number =>
  delayMs * (1 - ratio + 2 * ratio * random());
