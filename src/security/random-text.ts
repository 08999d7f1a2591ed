import { randomInt } from "node:crypto";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** So many letters and digits, each as likely as any other. */
export const randomText = (length: number): string =>
  Array.from({ length }, () => BASE62[randomInt(BASE62.length)]).join("");
