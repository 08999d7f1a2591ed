import { ApiError } from "../runtime/errors.ts";

/** Does costly work when its turn comes; `caller` is whom it is done for. */
export type Turns = <T>(caller: string, work: () => Promise<T>) => Promise<T>;

interface TurnsOptions {
  atOnce: number;
  mostWaiting: number;
  /** How many of those one caller may have: a single one must not keep the others out. */
  mostPerCaller: number;
}

/** Runs at most so many at once; refuses when too many wait already. */
export function createTurns({ atOnce, mostWaiting, mostPerCaller }: TurnsOptions): Turns {
  const waiting: (() => void)[] = [];
  const perCaller = new Map<string, number>();
  let running = 0;

  async function enter(): Promise<void> {
    if (running < atOnce) running += 1;
    else await new Promise<void>((resume) => waiting.push(resume)); // the place is handed over, not given up
  }

  function leave(): void {
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  }

  return async (caller, work) => {
    const others = perCaller.get(caller) ?? 0;
    if (waiting.length >= mostWaiting || others >= mostPerCaller)
      throw new ApiError("overloaded", "There is too much to do at this moment, please try again");
    perCaller.set(caller, others + 1);
    try {
      await enter();
      return await work().finally(leave);
    } finally {
      const left = (perCaller.get(caller) ?? 1) - 1;
      if (left > 0) perCaller.set(caller, left);
      else perCaller.delete(caller);
    }
  };
}
