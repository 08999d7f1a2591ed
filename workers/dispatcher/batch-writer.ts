import { pause } from "../../src/runtime/async/pause.ts";
import { SECOND } from "../../src/runtime/durations.ts";
import type { Log } from "../../src/runtime/logging/log.ts";
import { createOutage } from "../../src/runtime/logging/outage-logger.ts";
import { DatabaseUnavailable } from "../../src/store/database/faults.ts";

/** Few milliseconds, in which others come to their end too. */
const GATHER = 3;
const MOST = 100;

/** What is written down, and whose it is. */
interface Owned {
  client_id: string;
  id: string;
}

interface FinisherParts<F extends Owned> {
  /** For the log: what it is that comes to an end. */
  what: "delivery" | "message";
  /** Answers whose lease still held. */
  write(finishes: readonly F[]): Promise<readonly string[]>;
  /** Without anything that others have said; undefined where nothing can be left out any more. */
  bare(finish: F): F | undefined;
  log: Log;
}

interface Waiting<F> {
  finish: F;
  written(): void;
}

/** So many may be told and not written down yet before nothing more is begun: after a crash those are told twice. */
const UNWRITTEN = 10;

export interface Finisher<F> {
  /** Waits until hardly anything is left to write down. */
  calm(): Promise<void>;
  /** Resolves once it is written down, or somebody else holds the lease, or it was given up. */
  finish(finish: F): Promise<void>;
  /** Waits for the database no longer. */
  giveUp(): void;
}

/** Writes down many endings in one statement: the database's commits are what limits us. */
export function createFinisher<F extends Owned>({ what, log, ...parts }: FinisherParts<F>): Finisher<F> {
  let waiting: Waiting<F>[] = [];
  let busy = false;
  let unwritten = 0;
  let hurried: (() => void)[] = [];
  const outage = createOutage(log, { away: "finisher.failed", back: "finisher.mended" }, { what });
  const named = ({ client_id: client, id }: Owned) => ({ client, [IDS[what]]: id });
  const givingUp = new AbortController();
  const givenUp = new Promise<void>((resolve) => {
    givingUp.signal.addEventListener("abort", () => resolve());
  });

  async function flush(): Promise<void> {
    busy = true;
    await pause(GATHER);
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MOST);
      waiting = waiting.slice(MOST);
      await Promise.race([write(batch.map(({ finish }) => finish)), givenUp]);
      for (const { written } of batch) written();
      unwritten -= batch.length;
      if (unwritten >= UNWRITTEN) continue;
      for (const goOn of hurried) goOn();
      hurried = [];
    }
    busy = false;
  }

  /** As long as the database is away, its rows are in our hands; what it refuses is tried one by one. */
  async function write(finishes: readonly F[]): Promise<void> {
    for (let delay = 200; !givingUp.signal.aborted; delay = Math.min(delay * 2, 1 * SECOND))
      try {
        const held = new Set(await parts.write(finishes));
        outage.mended();
        const lost = finishes.filter(({ id }) => !held.has(id));
        for (const finish of lost) log.warn(`${what}.lost`, named(finish));
        return;
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) return writeSingly(finishes, error);
        outage.failed(error);
        await pause(delay, givingUp.signal);
      }
  }

  /** One that cannot be written must not keep its neighbours from it, nor come again for ever. */
  async function writeSingly(finishes: readonly F[], error: unknown): Promise<void> {
    if (finishes.length > 1) for (const finish of finishes) await write([finish]);
    else for (const only of finishes) await writeBare(only, error);
  }

  async function writeBare(only: F, error: unknown): Promise<void> {
    const bare = parts.bare(only);
    if (bare) await write([bare]);
    else log.error(`${what}.not_written`, { ...named(only), err: error });
  }

  return {
    async calm() {
      while (unwritten >= UNWRITTEN) await new Promise<void>((goOn) => hurried.push(goOn));
    },
    giveUp() {
      if (unwritten > 0) log.error("finisher.gave_up", { what, count: unwritten });
      givingUp.abort();
    },
    finish: (finish) =>
      new Promise<void>((written) => {
        unwritten += 1;
        waiting.push({ finish, written });
        if (!busy) void flush();
      }),
  };
}

const IDS = { delivery: "event_id", message: "message_id" } as const;
