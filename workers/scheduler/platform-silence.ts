import { PlatformFailure } from "../../src/platforms/errors/failure.ts";
import type { Verdict } from "../../src/platforms/errors/verdicts.ts";

/** Verdicts that an unavailable platform causes. */
const SILENT_VERDICTS: readonly Verdict[] = [
  "transient",
  "timeout",
  "unreachable",
  "disconnected",
  "unusable_answer",
  "ambiguous",
];

/** True when the platform may be unavailable to everyone. */
export const isPlatformSilent = (error: unknown): boolean =>
  error instanceof PlatformFailure && SILENT_VERDICTS.includes(error.verdict);
