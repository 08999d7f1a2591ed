import { CURRENT, MAX_UNITS, openWorkTable } from "./work-table.ts";

/** A piece of work that the watchdog names when it blocks the event loop. */
export interface UnitOfWork {
  /** Marks this unit as the one that runs now. Call it where the unit continues after waiting. */
  resume(): void;
  /** Must be called once the unit has ended or failed; further calls have no effect. */
  end(): void;
}

export interface WorkTracker {
  /** Starts a unit, which also counts as resumed. The label is logged: ids and route patterns, never a URL or a secret. */
  begin(label: string): UnitOfWork;
}

const UNTRACKED: UnitOfWork = { resume() {}, end() {} };

/** Tracks nothing. */
export const NO_TRACKER: WorkTracker = { begin: () => UNTRACKED };

/** Writes units into the memory that the watchdog reads. Units beyond MAX_UNITS are not tracked. */
export function createWorkTracker(memory: SharedArrayBuffer): WorkTracker {
  const { header, lengths, sequences, labels } = openWorkTable(memory);
  const freeSlots = Array.from({ length: MAX_UNITS }, (_, slot) => slot);
  const encoder = new TextEncoder();
  let sequence = 0;

  /** A class: closures per unit would cost more than the rest of `begin`. */
  class TrackedUnit implements UnitOfWork {
    private readonly slot: number;
    private hasEnded = false;

    constructor(slot: number) {
      this.slot = slot;
    }

    resume(): void {
      if (this.hasEnded) return;
      sequence = (sequence + 1) | 0;
      Atomics.store(sequences, this.slot, sequence);
      Atomics.store(header, CURRENT, this.slot + 1);
    }

    end(): void {
      if (this.hasEnded) return;
      this.hasEnded = true;
      Atomics.store(lengths, this.slot, 0);
      if (header[CURRENT] === this.slot + 1) Atomics.store(header, CURRENT, 0);
      freeSlots.push(this.slot);
    }
  }

  return {
    begin(label) {
      const slot = freeSlots.pop();
      if (slot === undefined) return UNTRACKED;
      const { written } = encoder.encodeInto(label, labels[slot] as Uint8Array);
      Atomics.store(lengths, slot, written);
      const unit = new TrackedUnit(slot);
      unit.resume();
      return unit;
    },
  };
}
