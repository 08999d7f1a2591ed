/**
 * Runs tasks, in the order of the calls, while the total weight of the running ones stays within a limit. A heavier task
 * runs alone. A failed task does not affect the others.
 */
export type WeightedRunner = <T>(weight: number, task: () => Promise<T>) => Promise<T>;

interface WaitingTask {
  weight: number;
  start(): void;
}

export function createWeightedRunner(maxWeight: number): WeightedRunner {
  const waiting: WaitingTask[] = [];
  let [runningTasks, runningWeight] = [0, 0];

  function startNext(): void {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      if (runningTasks > 0 && runningWeight + next.weight > maxWeight) return;
      waiting.shift();
      runningTasks += 1;
      runningWeight += next.weight;
      next.start();
    }
  }

  return async (weight, task) => {
    await new Promise<void>((resolve) => {
      waiting.push({ weight, start: resolve });
      startNext();
    });
    try {
      return await task();
    } finally {
      runningTasks -= 1;
      runningWeight -= weight;
      startNext();
    }
  };
}
