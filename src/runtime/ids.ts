import { hash, randomUUID } from "node:crypto";
import { createUlids, decodeTime, encodeTime } from "./ulid.ts";

/** Prefixes of the kinds of ids. Client and ad account ids are UUIDs instead. */
const ID_PREFIXES = ["ch", "msg", "evt", "es", "key", "usr", "req", "wrk", "aud", "con", "ses"] as const;
export type IdPrefix = (typeof ID_PREFIXES)[number];

const nextUlid = createUlids();

/** A new id, e.g. `msg_01jc…`: 26 characters that sort by time, also within one millisecond of one process. */
export const newId = (prefix: IdPrefix): string => `${prefix}_${nextUlid()}`;

/** Sorts before every id made at this time or later, and after every earlier one. */
export const firstIdAt = (prefix: IdPrefix, time: number): string => `${prefix}_${encodeTime(time)}`;

/** Returns the creation time (milliseconds) of an id, or the time of a bound made by firstIdAt. */
export const timeOfId = (id: string): number => decodeTime(id.slice(id.indexOf("_") + 1));

/** The part after the prefix: 26 digits and lower-case letters without i, l, o and u. */
const UNPREFIXED_ID = /^[0-9a-hjkmnp-tv-z]{26}$/;

/** True when the value has the form of such an id. Checked before a caller's text reaches the database. */
export const isPrefixedId = (value: string, prefix: IdPrefix): boolean =>
  value.startsWith(`${prefix}_`) && UNPREFIXED_ID.test(value.slice(prefix.length + 1));

/** True when the value has the form of a platform's id. Checked before it reaches the database or the log. */
export const isPlatformId = (value: string): boolean => /^\d{1,32}$/.test(value);

/** The last millisecond in which newUuid was called, and the number of further UUIDs made in it. */
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

/** True when the value has the form of a client's id. Checked before a caller's text reaches a uuid column. */
export const isClientId = (value: unknown): value is string => typeof value === "string" && UUID.test(value);

/** Returns 128 bits of a hash of the text in UUID format, which the database stores in 16 bytes. */
export function uuidOf(text: string): string {
  const digits = hash("sha256", text);
  const part = (from: number, to: number) => digits.slice(from, to);
  return `${part(0, 8)}-${part(8, 12)}-${part(12, 16)}-${part(16, 20)}-${part(20, 32)}`;
}
