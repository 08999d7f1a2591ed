import { DAY, MINUTE, SECOND } from "../../runtime/durations.ts";
import type { Grant } from "./tokens.ts";

/** The platform counts in Unix seconds. */
export const toSeconds = (milliseconds: number): number => Math.floor(milliseconds / SECOND);

export const SHORT_LIVED_SECONDS = toSeconds(90 * MINUTE);

/** Not quite 60 days: the platform's number is never a round one. */
export const LONG_LIVED_SECONDS = 5_183_944;

export const DATA_ACCESS_SECONDS = toSeconds(90 * DAY);

/** The Unix second at which a page's token made from this grant ends: a long-lived person's never does. */
export const pageTokenExpiry = ({ issued, expires }: Grant): number =>
  expires === 0 || expires - issued > SHORT_LIVED_SECONDS ? 0 : expires;
