import { createHash, randomInt, timingSafeEqual } from "node:crypto";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Returns `length` random letters and digits, uniformly distributed. */
export const randomText = (length: number): string =>
  Array.from({ length }, () => BASE62[randomInt(BASE62.length)]).join("");

const digest = (text: string) => createHash("sha256").update(text).digest();

/** Compares digests, so that the time depends on neither content nor length of `expected`. */
export const isSameText = (given: string, expected: string): boolean =>
  timingSafeEqual(digest(given), digest(expected));

/** True when the Authorization header carries this Bearer token. */
export const isBearerToken = (header: string | undefined, token: string): boolean =>
  isSameText(header ?? "", `Bearer ${token}`);
