import type { Rates } from "../../../src/queue/rates.ts";
import { createBatcher } from "../../../src/runtime/async/batcher.ts";
import type { SendKey } from "../../../src/store/messages/claim-sends.ts";

/**
 * The age of a token of a channel's rate at each step of a send. `request` is the reserve of the buckets: requests that start later
 * than this after their tokens were taken could exceed the rate. `mark` leaves half of it to the mark.
 */
const MAX_AGES_MS = { mark: 50, request: 100 };

/** False when the send has no token that is young enough for the step. */
export type HasToken = (step: keyof typeof MAX_AGES_MS) => Promise<boolean>;

interface TokensParts {
  rates: Pick<Rates, "give">;
  take(requests: readonly { key: SendKey; max: number }[]): Promise<number[]>;
  idOf(key: SendKey): string;
  /** Milliseconds of a monotonic clock. */
  now?(): number;
}

const MAX_EXCHANGES = 1_000;

/** Returns the function that holds the token of a claimed send. An old one is exchanged: its bucket may have been filled again. */
export function createTokens({ rates, take, idOf, now = () => performance.now() }: TokensParts) {
  /** A claim that is late exchanges all its tokens in the same turn, and with one request. */
  const exchanges = createBatcher<SendKey, boolean>({
    maxItems: MAX_EXCHANGES,
    maxRunningBatches: Number.POSITIVE_INFINITY,
    async run(keys) {
      const requests = new Map<string, { key: SendKey; max: number }>();
      for (const key of keys) requests.set(idOf(key), { key, max: (requests.get(idOf(key))?.max ?? 0) + 1 });
      for (const { key, max } of requests.values()) rates.give(key, max);
      const granted = await take([...requests.values()]);
      const left = new Map([...requests.keys()].map((id, index) => [id, granted[index] ?? 0]));
      return (key) => {
        const count = left.get(idOf(key)) ?? 0;
        left.set(idOf(key), count - 1);
        return count > 0;
      };
    },
  });

  return (key: SendKey, claimedAt: number): HasToken => {
    let takenAt = claimedAt;
    return async (step) => {
      if (now() - takenAt <= MAX_AGES_MS[step]) return true;
      const isTaken = await exchanges.add(key);
      if (isTaken) takenAt = now();
      return isTaken;
    };
  };
}
