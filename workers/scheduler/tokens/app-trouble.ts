import { PlatformFailure } from "../../../src/platforms/errors/failure.ts";

type Kind = "no answer" | "pause";

/** Trouble that is not of one connection: the platform does not tell the app anything, or wants to be left alone by it. */
export class AppTrouble extends Error {
  override name = "AppTrouble";
  readonly kind: Kind;
  readonly failure: PlatformFailure;

  constructor(kind: Kind, failure: PlatformFailure) {
    super(failure.message, { cause: failure });
    this.kind = kind;
    this.failure = failure;
  }
}

/** The question about a token is the app's own: what keeps it from being answered concerns all of them, but for a narrow throttle. */
export function asAppTrouble(error: unknown): never {
  const kind = error instanceof PlatformFailure ? kindOf(error) : undefined;
  throw kind === undefined ? error : new AppTrouble(kind, error as PlatformFailure);
}

function kindOf({ code, verdict, holds }: PlatformFailure): Kind | undefined {
  if (code !== "platform_rate_limited") return "no answer";
  // Without a verdict it was not even asked, for the app is held; else the platform has just said what is.
  return verdict === undefined || holds === "app" ? "pause" : undefined;
}
