import { randomFillSync } from "node:crypto";

/**
 * ULIDs in lower case: 10 digits of time and 16 random ones. Web makes several per request; the ulid package
 * takes about 20 microseconds for one in each new millisecond.
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
 * Makes ULIDs that sort in the order in which they are made, also within a millisecond and after the clock was set back:
 * the last 20 bits then count upwards. They begin in the lower half of their range, so that they rarely reach its end.
 */
export function createUlids(now: () => number = Date.now): () => string {
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
    if (time > lastTime) begin(time);
    else if (counter === TWENTY_BITS) begin(lastTime + 1);
    return `${head}${fourDigits(counter)}`;
  };
}
