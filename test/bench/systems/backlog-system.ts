import type { ProcessIds } from "../frame/cpu.ts";

/** A system that works off a queue: Herald's dispatcher or a peer, with the part that records and enqueues items. */
export interface BacklogSystem<Item> {
  name: string;
  /** The processes whose processor time counts. */
  processes: ProcessIds;
  /** Commits items and enqueues them; resolves when all are enqueued, with their ids. */
  enqueue(items: readonly Item[]): Promise<string[]>;
  /** Number of items from this id on whose success is written, and of their attempts. */
  countWritten(firstId: string): Promise<WrittenCounts>;
  /** Suspends and resumes the processes that work, so that a backlog can be made for them. */
  suspend(): void;
  resume(): void;
  /** True for a system that polls for work: outside its rounds it is suspended, because it would slow down the others. */
  polls?: boolean;
}

export interface WrittenCounts {
  done: number;
  attempts: number;
}

/** Suspends and resumes processes with signals, which all contestants obey alike. */
export const suspension = (...pids: number[]) => ({
  suspend() {
    for (const pid of pids) process.kill(pid, "SIGSTOP");
  },
  resume() {
    for (const pid of pids) process.kill(pid, "SIGCONT");
  },
});

/** Parts of at most `size` items. */
export const chunksOf = <T>(items: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
