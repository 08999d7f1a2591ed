/** What the doctor found at one place. */
export interface Finding {
  check: string;
  status: "ok" | "warning" | "failed";
  message: string;
  /** What to do about it. */
  mend?: string;
}

export const ok = (check: string, message: string): Finding => ({ check, status: "ok", message });

export const failed = (check: string, message: string, mend: string): Finding => ({
  check,
  status: "failed",
  message,
  mend,
});

export const warning = (check: string, message: string, mend: string): Finding => ({
  check,
  status: "warning",
  message,
  mend,
});

export const rootCauseMessage = (error: unknown): string => {
  const { message, code, cause } = (error ?? {}) as { message?: string; code?: string; cause?: unknown };
  // What fetch says itself is only that it failed.
  return cause instanceof Error ? rootCauseMessage(cause) : message || code || "no reason given";
};
