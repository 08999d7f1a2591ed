import { hash, randomFillSync, randomUUID } from "node:crypto";
import { MAX_CLOCK_DIFFERENCE_MS } from "./deadlines.ts";

/** Prefixes of the kinds of ids. Client and ad account ids are UUIDs instead. */
const ID_PREFIXES = [
  "ch",
  "msg",
  "bat",
  "evt",
  "es",
  "key",
  "usr",
  "req",
  "wrk",
  "aud",
  "con",
  "ses",
] as const;
export type IdPrefix = (typeof ID_PREFIXES)[number];

/** Milliseconds from this process's clock to the clock that ids take their time from. */
let clockOffsetMs = 0;

/** Called when the clock of this process differs too much from that of Postgres, and with 0 when it no longer does. */
export function setIdClockOffset(milliseconds: number): void {
  clockOffsetMs = Math.round(milliseconds);
}

/** The time of a new id. */
export const idTime = (): number => Date.now() + clockOffsetMs;

/** A new id, e.g. `msg_01jc…`: 26 characters that sort by time, also within one millisecond of one process. */
export const newId = (prefix: IdPrefix): string => `${prefix}_${nextUlid()}`;

/** Sorts before every id made at this time or later, and after every earlier one. */
export const firstIdAt = (prefix: IdPrefix, time: number): string => `${prefix}_${encodeTime(time)}`;

/** Like firstIdAt, for any time: it is limited to the range that an id can encode. */
export const nearestIdAt = (prefix: IdPrefix, time: number): string =>
  firstIdAt(prefix, Math.min(Math.max(time, 0), MAX_TIME));

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
  const now = idTime();
  [lastTime, sequence] = isNewTime(now, lastTime) ? [now, 0] : [lastTime, sequence + 1];
  if (sequence > MAX_SEQUENCE) [lastTime, sequence] = [lastTime + 1, 0];
  const time = lastTime.toString(16).padStart(12, "0");
  const sequenceDigits = sequence.toString(16).padStart(3, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${sequenceDigits}${randomUUID().slice(18)}`;
}

/** A clock that was set back by more than clocks may differ counts at once; otherwise ids keep the last time. */
const isNewTime = (time: number, last: number): boolean =>
  time > last || time < last - MAX_CLOCK_DIFFERENCE_MS;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** True when the value has the form of a client's id. Checked before a caller's text reaches a uuid column. */
export const isClientId = (value: unknown): value is string => typeof value === "string" && UUID.test(value);

/** Returns 128 bits of a hash of the text in UUID format, which the database stores in 16 bytes. */
export function uuidOf(text: string): string {
  const digits = hash("sha256", text);
  const part = (from: number, to: number) => digits.slice(from, to);
  return `${part(0, 8)}-${part(8, 12)}-${part(12, 16)}-${part(16, 20)}-${part(20, 32)}`;
}

/**
 * ULIDs in lower case: 10 digits of time and 16 random ones. One takes 0.05 to 0.3 microseconds; the ulid package takes 0.5
 * to 1 with these random bits and 1 to 59 with its own, does not return to a clock that was set back, and reads no bounds.
 */
const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";
const TIME_DIGITS = 10;
const MAX_TIME = 2 ** 48 - 1;

/** Every pair of digits, by its 10 bits. */
const PAIRS = Array.from({ length: 1_024 }, (_, bits) => `${DIGITS[bits >> 5]}${DIGITS[bits & 31]}`);

/** Four digits of 20 bits. */
const fourDigits = (bits: number): string => `${PAIRS[bits >> 10]}${PAIRS[bits & 1_023]}`;

const TWENTY_BITS = 2 ** 20;

/** The time's 10 digits; they sort by time. Throws a RangeError for a time that they cannot express. */
export function encodeTime(time: number): string {
  if (!Number.isInteger(time) || time < 0 || time > MAX_TIME)
    throw new RangeError(`no time of an id: ${time}`);
  const [high, low] = [Math.floor(time / TWENTY_BITS), time % TWENTY_BITS];
  return `${PAIRS[Math.floor(high / TWENTY_BITS)]}${fourDigits(high % TWENTY_BITS)}${fourDigits(low)}`;
}

/** Reads the time that a text begins with. Throws a RangeError for a text that does not begin with one. */
export function decodeTime(text: string): number {
  let time = 0;
  for (let at = 0; at < TIME_DIGITS; at++) {
    const digit = at < text.length ? DIGITS.indexOf(text.charAt(at)) : -1;
    if (digit === -1) throw new RangeError("the id has no time");
    time = time * 32 + digit;
  }
  return time;
}

const RANDOM_BLOCK_SIZE = 256;

/** Draws 20 random bits at a time from a block: a system call for each would dominate the cost of an id. */
function createRandomBits(): () => number {
  const block = new Uint32Array(RANDOM_BLOCK_SIZE);
  let used = block.length;
  return () => {
    if (used === block.length) {
      randomFillSync(block);
      used = 0;
    }
    return (block[used++] as number) >>> 12;
  };
}

/**
 * Makes ULIDs that sort in the order in which they are made, also within a millisecond and after the clock was set back a
 * little: the last 20 bits then count upwards. They begin in the lower half of their range, so that they rarely reach its end.
 */
export function createUlids(now: () => number = idTime): () => string {
  const randomBits = createRandomBits();
  let [lastTime, head, counter] = [-1, "", 0];
  const begin = (time: number) => {
    lastTime = time;
    head = `${encodeTime(time)}${fourDigits(randomBits())}${fourDigits(randomBits())}${fourDigits(randomBits())}`;
    counter = randomBits() >> 1;
  };
  return () => {
    const time = now();
    counter += 1;
    if (isNewTime(time, lastTime)) begin(time);
    else if (counter === TWENTY_BITS) begin(lastTime + 1);
    return `${head}${fourDigits(counter)}`;
  };
}

const nextUlid = createUlids();
