import { randomBytes } from "node:crypto";
import { SECOND } from "../../runtime/durations.ts";
import type { Grant } from "./tokens.ts";

/** What the person agreed to in a dialog; its token gets its times when the code is exchanged. */
export type Agreement = Omit<Grant, "issued" | "expires">;

interface CodeDetails {
  /** The dialog's, byte for byte. */
  redirectUri: string;
  agreement: Agreement;
}

export type CodeResult =
  | { outcome: "taken"; agreement: Agreement }
  | { outcome: "unknown" | "used" | "expired" | "mismatch" };

export interface Codes {
  issue(details: CodeDetails): string;
  /** Burns the code. One that comes with another redirect_uri is refused and stays good. */
  take(code: string, redirectUri: string): CodeResult;
}

interface CodeOptions {
  now(): number;
  /** Milliseconds. */
  lifetimeMs?: number;
}

/** The codes that dialogs hand out: for one exchange, within half a minute. Used ones are remembered, to say so. */
export function createCodes({ now, lifetimeMs = 30 * SECOND }: CodeOptions): Codes {
  const issued = new Map<string, CodeDetails & { until: number; used: boolean }>();
  return {
    issue(details) {
      const code = `AQ${randomBytes(48).toString("base64url")}`;
      issued.set(code, { ...details, until: now() + lifetimeMs, used: false });
      return code;
    },
    take(code, redirectUri) {
      const found = issued.get(code);
      if (!found) return { outcome: "unknown" };
      if (found.used) return { outcome: "used" };
      if (now() > found.until) return { outcome: "expired" };
      if (found.redirectUri !== redirectUri) return { outcome: "mismatch" };
      found.used = true;
      return { outcome: "taken", agreement: found.agreement };
    },
  };
}
