/** The result of one check. */
export interface Finding {
  check: string;
  status: "ok" | "warning" | "failed";
  message: string;
  /** How to fix the problem; absent when the check passed. */
  fix?: string;
}

export const ok = (check: string, message: string): Finding => ({ check, status: "ok", message });

export const failed = (check: string, message: string, fix: string): Finding => ({
  check,
  status: "failed",
  message,
  fix,
});

export const warning = (check: string, message: string, fix: string): Finding => ({
  check,
  status: "warning",
  message,
  fix,
});

export const rootCauseMessage = (error: unknown): string => {
  const { message, code, cause } = (error ?? {}) as { message?: string; code?: string; cause?: unknown };
  // fetch's own message only says that it failed; the cause has the reason.
  return cause instanceof Error ? rootCauseMessage(cause) : message || code || "no reason given";
};
