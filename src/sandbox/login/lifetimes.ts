import { DAY, MINUTE, SECOND } from "../../runtime/durations.ts";
import type { Grant } from "./tokens.ts";

/** The platform's times are Unix seconds. */
export const toSeconds = (milliseconds: number): number => Math.floor(milliseconds / SECOND);

export const SHORT_LIVED_SECONDS = toSeconds(90 * MINUTE);

/** Slightly less than 60 days, like the platform's value. */
export const LONG_LIVED_SECONDS = 5_183_944;

export const DATA_ACCESS_SECONDS = toSeconds(90 * DAY);

/** Returns when a page token of this grant expires; 0 (never) for a long-lived user token. */
export const pageTokenExpiry = ({ issued, expires }: Grant): number =>
  expires === 0 || expires - issued > SHORT_LIVED_SECONDS ? 0 : expires;
