import { createHash, timingSafeEqual } from "node:crypto";

const digest = (text: string) => createHash("sha256").update(text).digest();

/** Compared as digests: in constant time, whatever the lengths. */
export const isSameText = (given: string, expected: string): boolean =>
  timingSafeEqual(digest(given), digest(expected));
