import type { Codes } from "./login/codes.ts";
import type { Tokens } from "./login/tokens.ts";
import type { SandboxSettings } from "./settings.ts";
import type { Webhooks } from "./webhooks/webhooks.ts";

/** What every part of the stand-in platforms stands on. */
export interface SandboxContext {
  settings: SandboxSettings;
  tokens: Tokens;
  codes: Codes;
  webhooks: Webhooks;
  /** The time of day, in milliseconds. */
  now(): number;
  /** Does the work after so many milliseconds of the sandbox's time, unless it is closed before. */
  schedule(milliseconds: number, work: () => void): void;
}

let createdCount = 0n;

/** A number as the platform gives its objects: too long for a double, and never the same again, not even after a restart. */
export function newNodeId(): string {
  createdCount += 1n;
  return String(
    120_000_000_000_000_000n + BigInt(Date.now() % 1_000_000_000_000) * 10_000n + (createdCount % 10_000n),
  );
}
