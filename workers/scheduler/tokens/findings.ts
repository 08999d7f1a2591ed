import type { Platforms } from "../../../src/platforms/platforms.ts";
import type { Log } from "../../../src/runtime/logging/log.ts";
import type { WorkTracker } from "../../../src/runtime/watchdog/work-tracker.ts";
import type { SecretBox } from "../../../src/security/secret-box.ts";
import type { Database } from "../../../src/store/database/database.ts";

export interface CheckParts {
  db: Database;
  secretBox: SecretBox;
  ads: Pick<Platforms["ads"], "tokens" | "accounts">;
  log: Log;
  tracker: WorkTracker;
  now(): number;
  /** Checks started per second; fewer by default, which spreads the calls. */
  maxChecksPerSecond?: number;
  /** Connections that are read at a time; more by default. */
  maxBatchRows?: number;
}

export const NO_FINDINGS = {
  /** Tokens whose owner has to act at the platform. */
  suspended: 0,
  /** This count and the following ones are of accounts. */
  revoked: 0,
  updated: 0,
  unreached: 0,
  warned: 0,
  subscribed: 0,
  not_subscribed: 0,
};

/** Counts by finding. */
export type Findings = typeof NO_FINDINGS;
