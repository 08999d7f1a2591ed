import type { Test } from "tap";
import type { Program } from "../../../src/local/programs.ts";

/** A fault under load, which `npm run test:failover` causes. */
export interface FailoverCase {
  /** Engine and fault, such as `redis-cluster/killed-primary`. */
  name: string;
  /** For the table. */
  engine: string;
  /** The server program whose version the table shows. */
  program: Program;
  fault: string;
  run(t: Test): Promise<Measurement>;
}

export interface Measurement {
  /** Events recorded and messages sent. */
  items: number;
  lost: number;
  doubled: number;
  /** The longest time in which no backend of the affected clients received anything. */
  longestGapMs: number;
  /** Null for faults that do not slow anything down. */
  recovery: Recovery | null;
}

/** Median milliseconds from acknowledgement to arrival, of the clients that the fault concerns. */
export interface Recovery {
  before: number;
  /** Undefined when it is normal again at once. */
  during: number | undefined;
  after: number;
  /** From the end of the fault, or the election of a successor, to a second of normal latency. */
  ms: number;
}

/** Environment of the test file: the names of the cases to run, and the file that gets a line for each that passed. */
export const CASES_VARIABLE = "TEST_FAILOVER_CASES";
export const RESULTS_VARIABLE = "TEST_FAILOVER_RESULTS";
