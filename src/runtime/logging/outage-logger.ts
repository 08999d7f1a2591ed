import type { Fields, Log } from "./log.ts";

/** Says once that something is away, and once that it is back, however often it is tried meanwhile. */
export interface Outage {
  failed(error: unknown): void;
  mended(): void;
}

export function createOutage(
  log: Log,
  { away, back }: { away: string; back: string },
  about: Fields = {},
): Outage {
  let isAway = false;
  return {
    failed(error) {
      if (!isAway) log.warn(away, { ...about, err: error });
      isAway = true;
    },
    mended() {
      if (isAway) log.info(back, about);
      isAway = false;
    },
  };
}
