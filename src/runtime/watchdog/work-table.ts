/**
 * Memory that a process shares with its watchdog thread: a counter that the event loop increases, and a table of the units
 * of work in progress. A slot is free while its label has length 0. Only the process writes; the thread reads the table
 * once the event loop is blocked, so that it never sees a half-written slot.
 */

export const MAX_UNITS = 1024;
/** Longer labels are cut. A route and the longest request id fit. */
export const MAX_LABEL_BYTES = 256;

/** Cells of `header`. */
export const BEATS = 0;
/** The slot of the unit that was resumed last, plus one; 0 when it has ended. */
export const CURRENT = 1;
/** Always 0: the thread sleeps by waiting for it to change. */
export const SLEEP = 2;
const HEADER_CELLS = 3;

const WORD_BYTES = Int32Array.BYTES_PER_ELEMENT;
const LABELS_OFFSET = (HEADER_CELLS + 2 * MAX_UNITS) * WORD_BYTES;

export const allocateWorkTable = (): SharedArrayBuffer =>
  new SharedArrayBuffer(LABELS_OFFSET + MAX_UNITS * MAX_LABEL_BYTES);

/** Views of the table. Each array except `header` has one entry per slot. */
export const openWorkTable = (memory: SharedArrayBuffer) => ({
  header: new Int32Array(memory, 0, HEADER_CELLS),
  lengths: new Int32Array(memory, HEADER_CELLS * WORD_BYTES, MAX_UNITS),
  /** Numbers the calls of `resume`; the highest is the most recent. Overflows after 2^31 of them. */
  sequences: new Int32Array(memory, (HEADER_CELLS + MAX_UNITS) * WORD_BYTES, MAX_UNITS),
  labels: Array.from(
    { length: MAX_UNITS },
    (_, slot) => new Uint8Array(memory, LABELS_OFFSET + slot * MAX_LABEL_BYTES, MAX_LABEL_BYTES),
  ),
});

export interface WorkInProgress {
  /** The label of the unit that was resumed last, if it has not ended. */
  current: string | undefined;
  /** All labels, the most recently resumed first. */
  labels: string[];
}

export function readWork(memory: SharedArrayBuffer): WorkInProgress {
  const { header, lengths, sequences, labels } = openWorkTable(memory);
  const decoder = new TextDecoder();
  const labelAt = (slot: number) => decoder.decode(labels[slot]?.slice(0, lengths[slot]));
  const sequenceAt = (slot: number) => sequences[slot] as number;
  const slots = [...lengths.keys()].filter((slot) => lengths[slot] !== 0);
  // The difference as a 32-bit integer is right after an overflow too.
  slots.sort((one, other) => (sequenceAt(other) - sequenceAt(one)) | 0);
  const current = Atomics.load(header, CURRENT) - 1;
  return { current: current < 0 ? undefined : labelAt(current), labels: slots.map(labelAt) };
}
