import { PlatformFailure } from "../../../src/platforms/errors/failure.ts";

type AppErrorKind = "no answer" | "pause";

/** A failure that concerns the whole app: the platform does not answer it, or asked it to pause. */
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

/** For the inspection of a token, which the app requests itself: its failure may concern all connections. */
export function throwAppError(error: unknown): never {
  throw error instanceof PlatformFailure
    ? new AppError(isAppPause(error) ? "pause" : "no answer", error)
    : error;
}

/** For requests with a connection's own token: only a pause of the app concerns other connections. */
export function rethrowPause(error: unknown): never {
  throw error instanceof PlatformFailure && isAppPause(error) ? new AppError("pause", error) : error;
}

/** True when the app's limit refused the request or held it back. A limit of one account does not stop the others. */
const isAppPause = ({ holds }: PlatformFailure): boolean => holds === "app";
