import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";
import { ApiError } from "../runtime/errors.ts";
import { randomText } from "./random-text.ts";

/** Slow on purpose: 32 MiB and about a fifth of a second for each guess. Kept with the hash, so that it can be raised. */
const COST = { log2N: 15, r: 8, p: 3 };
const HASH_BYTES = 32;
const SALT_BYTES = 16;

/** The thread pool also serves name lookups and files; passwords may not fill it. */
const AT_ONCE = 2;
const MOST_WAITING = 50;

export interface Passwords {
  hash(password: string): Promise<string>;
  /** Costs the same when there is no hash to compare with. */
  matches(password: string, hash: string | undefined): Promise<boolean>;
}

export const generatePassword = (): string => randomText(20);

export function createPasswords(): Passwords {
  const inTurn = turns(AT_ONCE, MOST_WAITING);
  const nobody = encode(randomBytes(SALT_BYTES), randomBytes(HASH_BYTES));
  return {
    async hash(password) {
      const salt = randomBytes(SALT_BYTES);
      return encode(salt, await inTurn(() => derive(password, { ...COST, salt })));
    },
    async matches(password, hash = nobody) {
      const { expected, ...cost } = decode(hash);
      const given = await inTurn(() => derive(password, cost));
      return timingSafeEqual(given, expected);
    },
  };
}

/** `$scrypt$ln=15,r=8,p=3$salt$hash`, the usual written form. */
function encode(salt: Buffer, hash: Buffer): string {
  const { log2N, r, p } = COST;
  return ["", "scrypt", `ln=${log2N},r=${r},p=${p}`, salt.toString("base64"), hash.toString("base64")].join(
    "$",
  );
}

function decode(text: string) {
  const [, , cost = "", salt = "", hash = ""] = text.split("$");
  const [log2N, r, p] = cost.split(",").map((part) => Number(part.split("=")[1])) as [number, number, number];
  return { log2N, r, p, salt: Buffer.from(salt, "base64"), expected: Buffer.from(hash, "base64") };
}

interface Cost {
  log2N: number;
  r: number;
  p: number;
  salt: Buffer;
}

function derive(password: string, { log2N, r, p, salt }: Cost): Promise<Buffer> {
  const N = 2 ** log2N;
  const options: ScryptOptions = { N, r, p, maxmem: 256 * N * r };
  return new Promise((resolve, reject) =>
    // The same letters typed on two keyboards may be composed differently.
    scrypt(password.normalize("NFKC"), salt, HASH_BYTES, options, (error, hash) =>
      error ? reject(error) : resolve(hash),
    ),
  );
}

/** Runs at most so many at once; refuses when too many wait already. */
function turns(atOnce: number, mostWaiting: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (waiting.length >= mostWaiting)
      throw new ApiError("overloaded", "Too many sign-ins at this moment, please try again", {
        headers: { "Retry-After": "5" },
      });
    if (running >= atOnce) await new Promise<void>((resume) => waiting.push(resume));
    else running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
