import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";
import { createShares, ShareRefused } from "../runtime/async/shares.ts";
import { SECOND } from "../runtime/durations.ts";
import { randomText } from "./secret-text.ts";

/** Slow on purpose: 32 MiB and about 0.2 s per guess. Stored with each hash, so that it can be raised later. */
const COST: Cost = { log2N: 15, r: 8, p: 3 };
const HASH_BYTES = 32;
const SALT_BYTES = 16;

/**
 * One hash at a time, in turn between callers: the thread pool also serves DNS lookups and files. Each kind of work has its
 * own share: anonymous attempts delay neither people from known networks nor users who set a password.
 */
const SHARES = { capacity: 1, maxWaitingPerKey: 25, maxWaitMs: 10 * SECOND };
const createCheckShares = () => ({
  known: createShares(SHARES),
  unknown: createShares(SHARES),
  hash: createShares({ ...SHARES, maxWaitingPerKey: 50 }),
});

/** The caller of a check. */
export interface PasswordCaller {
  network: string;
  /** True when the user has signed in from this network before. */
  isKnown: boolean;
  /** Aborted when the caller disconnects: a check that waits is dropped. */
  signal?: AbortSignal;
}

const ANY_CALLER: PasswordCaller = { network: "", isKnown: true };

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
  check(password: string, hash: string | undefined, by?: PasswordCaller): Promise<CheckOutcome>;
}

export const generatePassword = (): string => randomText(20);

export function createPasswords(cost = COST): Passwords {
  const shares = createCheckShares();
  const dummyHash = encode(cost, randomBytes(SALT_BYTES), randomBytes(HASH_BYTES));
  return {
    async hash(password) {
      const salt = randomBytes(SALT_BYTES);
      const derived = await shares.hash
        .run("", 1, () => derive(password, { ...cost, salt }))
        .catch(toRefusal);
      return Buffer.isBuffer(derived)
        ? { outcome: "hashed", hash: encode(cost, salt, derived) }
        : { outcome: "overloaded" };
    },
    async check(password, hash = dummyHash, by = ANY_CALLER) {
      const { expected, ...params } = decode(hash);
      const { network, isKnown, signal } = by;
      const actual = await (isKnown ? shares.known : shares.unknown)
        .run(network, 1, () => derive(password, params), { signal })
        .catch(toRefusal);
      if (!Buffer.isBuffer(actual)) return actual;
      return { outcome: timingSafeEqual(actual, expected) ? "matches" : "differs" };
    },
  };
}

function toRefusal(error: unknown): { outcome: "overloaded" | "cancelled" } {
  if (!(error instanceof ShareRefused)) throw error;
  return { outcome: error.reason === "gone" ? "cancelled" : "overloaded" };
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
