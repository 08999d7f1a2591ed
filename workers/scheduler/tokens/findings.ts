import type { Platforms } from "../../../src/platforms/platforms.ts";
import type { Log } from "../../../src/runtime/logging/log.ts";
import type { SecretBox } from "../../../src/security/secret-box.ts";
import type { Database } from "../../../src/store/database/database.ts";

export interface CheckParts {
  db: Database;
  secretBox: SecretBox;
  ads: Pick<Platforms["ads"], "tokens" | "accounts">;
  log: Log;
  now(): number;
}

export const NO_FINDINGS = {
  /** Tokens that wait for their person to do something at the platform. */
  suspended: 0,
  /** The rest are accounts. */
  revoked: 0,
  updated: 0,
  unreached: 0,
  warned: 0,
  subscribed: 0,
  not_subscribed: 0,
};

/** How many it concerned. */
export type Findings = typeof NO_FINDINGS;
