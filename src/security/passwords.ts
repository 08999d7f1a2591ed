import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";
import { randomText } from "./random-text.ts";
import { createWorkQueue } from "./work-queue.ts";

/** Slow on purpose: 32 MiB and about a fifth of a second for each guess. Kept with the hash, so that it can be raised. */
const COST: Cost = { log2N: 15, r: 8, p: 3 };
const HASH_BYTES = 32;
const SALT_BYTES = 16;

/**
 * The thread pool also serves name lookups and files; passwords may not fill it. Strangers who try one and people who set
 * one wait apart, so that nobody outside can keep those inside from working.
 */
const VERIFY_QUEUE = { maxRunning: 2, maxWaiting: 50, maxPerCaller: 25 };
const HASH_QUEUE = { maxRunning: 1, maxWaiting: 50, maxPerCaller: 50 };

interface Cost {
  log2N: number;
  r: number;
  p: number;
}

/** `overloaded`: too many wait already, and nothing was computed. */
export type HashOutcome = { outcome: "hashed"; hash: string } | { outcome: "overloaded" };
export type CheckOutcome = { outcome: "matches" | "differs" | "overloaded" };

export interface Passwords {
  hash(password: string): Promise<HashOutcome>;
  /** Costs the same when there is no hash to compare with. `caller` is the address that the try comes from. */
  check(password: string, hash: string | undefined, caller?: string): Promise<CheckOutcome>;
}

export const generatePassword = (): string => randomText(20);

export function createPasswords(cost = COST): Passwords {
  const [verifyQueue, hashQueue] = [createWorkQueue(VERIFY_QUEUE), createWorkQueue(HASH_QUEUE)];
  const dummyHash = encode(cost, randomBytes(SALT_BYTES), randomBytes(HASH_BYTES));
  return {
    async hash(password) {
      const salt = randomBytes(SALT_BYTES);
      const derived = await hashQueue("", () => derive(password, { ...cost, salt }));
      if (derived.outcome === "overloaded") return derived;
      return { outcome: "hashed", hash: encode(cost, salt, derived.value) };
    },
    async check(password, hash = dummyHash, caller = "") {
      const { expected, ...params } = decode(hash);
      const actual = await verifyQueue(caller, () => derive(password, params));
      if (actual.outcome === "overloaded") return actual;
      return { outcome: timingSafeEqual(actual.value, expected) ? "matches" : "differs" };
    },
  };
}

/** `$scrypt$ln=15,r=8,p=3$salt$hash`, the usual written form. */
function encode({ log2N, r, p }: Cost, salt: Buffer, hash: Buffer): string {
  return ["", "scrypt", `ln=${log2N},r=${r},p=${p}`, salt.toString("base64"), hash.toString("base64")].join(
    "$",
  );
}

function decode(text: string) {
  const [, , cost = "", salt = "", hash = ""] = text.split("$");
  const [log2N, r, p] = cost.split(",").map((part) => Number(part.split("=")[1])) as [number, number, number];
  return { log2N, r, p, salt: Buffer.from(salt, "base64"), expected: Buffer.from(hash, "base64") };
}

function derive(password: string, { log2N, r, p, salt }: Cost & { salt: Buffer }): Promise<Buffer> {
  const N = 2 ** log2N;
  const options: ScryptOptions = { N, r, p, maxmem: 256 * N * r };
  return new Promise((resolve, reject) =>
    // The same letters typed on two keyboards may be composed differently.
    scrypt(password.normalize("NFKC"), salt, HASH_BYTES, options, (error, hash) =>
      error ? reject(error) : resolve(hash),
    ),
  );
}
