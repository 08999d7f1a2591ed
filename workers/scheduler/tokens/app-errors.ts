import { PlatformFailure } from "../../../src/platforms/errors/failure.ts";

type AppErrorKind = "no answer" | "pause";

/** Trouble that is not of one connection: the platform does not tell the app anything, or wants to be left alone by it. */
export class AppError extends Error {
  override name = "AppError";
  readonly kind: AppErrorKind;
  readonly failure: PlatformFailure;

  constructor(kind: AppErrorKind, failure: PlatformFailure) {
    super(failure.message, { cause: failure });
    this.kind = kind;
    this.failure = failure;
  }
}

/** The question about a token is the app's own: what keeps it from being answered may well concern all of them. */
export function throwAppError(error: unknown): never {
  throw error instanceof PlatformFailure
    ? new AppError(isAppPause(error) ? "pause" : "no answer", error)
    : error;
}

/** Of a question that is a connection's own only a pause of the app concerns the others. */
export function rethrowPause(error: unknown): never {
  throw error instanceof PlatformFailure && isAppPause(error) ? new AppError("pause", error) : error;
}

/** Held, it was not even asked, for the app is paused; throttled, the platform has just said what is. */
const isAppPause = ({ verdict, holds }: PlatformFailure): boolean =>
  verdict === "held" || (verdict === "throttled" && holds === "app");
