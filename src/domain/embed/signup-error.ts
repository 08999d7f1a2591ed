import { PlatformFailure } from "../../platforms/errors/failure.ts";
import { CODE_BY_VERDICT } from "../../platforms/errors/verdict-codes.ts";
import type { SignupErrorCode, SignupStep } from "../../schema/enumerations.ts";

/** A step of a signup cannot succeed for a reason that a person must know. */
export class SignupError extends Error {
  readonly code: SignupErrorCode;

  constructor(code: SignupErrorCode, message: string) {
    super(message);
    this.name = "SignupError";
    this.code = code;
  }
}

/** The failure of a step, as the session and its event show it. */
export interface StepFailure {
  step: SignupStep;
  code: SignupErrorCode;
  message: string;
}

/** Faults of Herald itself reveal nothing. */
export function toStepFailure(step: SignupStep, error: unknown): StepFailure {
  if (error instanceof SignupError) return { step, code: error.code, message: error.message };
  if (error instanceof PlatformFailure) return { step, code: codeOf(error), message: error.message };
  return { step, code: "internal_error", message: "An internal error occurred" };
}

/** The granted token belongs to no channel yet: when it is dead, the person has withdrawn the grant. */
function codeOf({ verdict }: PlatformFailure): SignupErrorCode {
  if (verdict === "token_dead") return "platform_permission_denied";
  return verdict === "no_socket" ? "platform_rate_limited" : CODE_BY_VERDICT[verdict];
}
