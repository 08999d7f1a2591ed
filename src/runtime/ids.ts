import { hash, randomFillSync, randomUUID } from "node:crypto";
import { decodeTime, encodeTime, monotonicFactory } from "ulid";

/** What a prefixed id names. Client and ad account ids are UUIDs instead. */
const ID_PREFIXES = ["ch", "msg", "evt", "es", "key", "usr", "req", "wrk", "aud", "con"] as const;
export type IdPrefix = (typeof ID_PREFIXES)[number];

/** Random fractions from a block of bytes: asking the system for each digit would dominate the cost of an id. */
function randomFractions(): () => number {
  const block = new Uint32Array(256);
  let used = block.length;
  return () => {
    if (used === block.length) {
      randomFillSync(block);
      used = 0;
    }
    return (block[used++] as number) / 2 ** 32;
  };
}

const nextUlid = monotonicFactory(randomFractions());

/** A new id, e.g. `msg_01jc…`: 26 characters that sort by time, also within one millisecond of one process. */
export const newId = (prefix: IdPrefix): string => `${prefix}_${nextUlid().toLowerCase()}`;

const TIME_DIGITS = 10;

/** Sorts before every id made at this time or later, and after every earlier one. */
export const firstIdAt = (prefix: IdPrefix, time: number): string =>
  `${prefix}_${encodeTime(time, TIME_DIGITS).toLowerCase()}`;

/** When the id, or a bound made by firstIdAt, was made. */
export const timeOfId = (id: string): number =>
  decodeTime(
    id
      .slice(id.indexOf("_") + 1)
      .padEnd(26, "0")
      .toUpperCase(),
  );

/** What follows the prefix: 26 digits and letters, without those that are easily mistaken. */
export const ID_PATTERN = "[0-9a-hjkmnp-tv-z]{26}";

/** Whether it has the form of such an id; asked before a stranger's text reaches the database. */
export const isPrefixedId = (value: string, prefix: IdPrefix): boolean =>
  new RegExp(`^${prefix}_${ID_PATTERN}$`).test(value);

/** Whether it has the form of an id that a platform gave; asked before a stranger's text reaches the database or the log. */
export const isPlatformId = (value: string): boolean => /^\d{1,32}$/.test(value);

/** Milliseconds, and how many UUIDs have been made in the last of them. */
let [lastTime, sequence] = [0, 0];
const MAX_SEQUENCE = 0xfff;

/** A new UUID of version 7: they sort by time, also within one millisecond of one process. */
export function newUuid(): string {
  const now = Date.now();
  [lastTime, sequence] = now > lastTime ? [now, 0] : [lastTime, sequence + 1];
  if (sequence > MAX_SEQUENCE) [lastTime, sequence] = [lastTime + 1, 0];
  const time = lastTime.toString(16).padStart(12, "0");
  const sequenceDigits = sequence.toString(16).padStart(3, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${sequenceDigits}${randomUUID().slice(18)}`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether it has the form of a client's id; asked before a stranger's text reaches a uuid column. */
export const isClientId = (value: unknown): value is string => typeof value === "string" && UUID.test(value);

/** 128 bits of a hash of the text, as a UUID is written: the form that the database keeps in the least space. */
export function uuidOf(text: string): string {
  const digits = hash("sha256", text);
  const part = (from: number, to: number) => digits.slice(from, to);
  return `${part(0, 8)}-${part(8, 12)}-${part(12, 16)}-${part(16, 20)}-${part(20, 32)}`;
}
