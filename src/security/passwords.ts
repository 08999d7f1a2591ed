import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";
import { createWorkQueue, type QueuedCaller } from "../runtime/async/work-queue.ts";
import { randomText } from "./random-text.ts";

/** Slow on purpose: 32 MiB and about 0.2 s per guess. Stored with each hash, so that it can be raised later. */
const COST: Cost = { log2N: 15, r: 8, p: 3 };
const HASH_BYTES = 32;
const SALT_BYTES = 16;

/**
 * Limits keep passwords from filling the thread pool, which also serves DNS lookups and files. Checks and hashes have
 * separate queues, so that anonymous login attempts cannot block users who set a password.
 */
const VERIFY_QUEUE = { maxRunning: 2, maxWaiting: 50, maxPerCaller: 25 };
const HASH_QUEUE = { maxRunning: 1, maxWaiting: 50, maxPerCaller: 50 };

const ANY_CALLER: QueuedCaller = { caller: "" };

interface Cost {
  log2N: number;
  r: number;
  p: number;
}

/** `overloaded`: too many are waiting already; nothing was computed. */
export type HashOutcome = { outcome: "hashed"; hash: string } | { outcome: "overloaded" };
/** `cancelled`: the caller disconnected before the check ran; nothing was computed. */
export type CheckOutcome = { outcome: "matches" | "differs" | "overloaded" | "cancelled" };

export interface Passwords {
  hash(password: string): Promise<HashOutcome>;
  /** Takes the same time without a hash, so that unknown users are not revealed. */
  check(password: string, hash: string | undefined, by?: QueuedCaller): Promise<CheckOutcome>;
}

export const generatePassword = (): string => randomText(20);

export function createPasswords(cost = COST): Passwords {
  const [verifyQueue, hashQueue] = [createWorkQueue(VERIFY_QUEUE), createWorkQueue(HASH_QUEUE)];
  const dummyHash = encode(cost, randomBytes(SALT_BYTES), randomBytes(HASH_BYTES));
  return {
    async hash(password) {
      const salt = randomBytes(SALT_BYTES);
      const derived = await hashQueue(ANY_CALLER, () => derive(password, { ...cost, salt }));
      if (derived.outcome !== "done") return { outcome: "overloaded" };
      return { outcome: "hashed", hash: encode(cost, salt, derived.value) };
    },
    async check(password, hash = dummyHash, by = ANY_CALLER) {
      const { expected, ...params } = decode(hash);
      const actual = await verifyQueue(by, () => derive(password, params));
      if (actual.outcome !== "done") return actual;
      return { outcome: timingSafeEqual(actual.value, expected) ? "matches" : "differs" };
    },
  };
}

/** Formats a hash as `$scrypt$ln=15,r=8,p=3$salt$hash` (PHC string format). */
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
    // Two keyboards may produce different Unicode compositions of the same letters.
    scrypt(password.normalize("NFKC"), salt, HASH_BYTES, options, (error, hash) =>
      error ? reject(error) : resolve(hash),
    ),
  );
}
