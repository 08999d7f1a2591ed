import { randomBytes } from "node:crypto";
import { SECOND } from "../../runtime/durations.ts";
import type { Grant } from "./tokens.ts";

/** The person's consent in a dialog. Issue and expiry times are added when the code is exchanged. */
export type Agreement = Omit<Grant, "issued" | "expires">;

interface CodeDetails {
  /** The dialog's redirect_uri; the exchange must repeat it exactly. */
  redirectUri: string;
  agreement: Agreement;
}

export type CodeResult =
  | { outcome: "taken"; agreement: Agreement }
  | { outcome: "unknown" | "used" | "expired" | "mismatch" };

export interface Codes {
  issue(details: CodeDetails): string;
  /** Consumes the code. A different redirect_uri is rejected and leaves the code valid. */
  take(code: string, redirectUri: string): CodeResult;
}

interface CodeOptions {
  now(): number;
  lifetimeMs?: number | undefined;
}

/** Codes for one exchange within 30 seconds. Used codes are kept, so that reuse is reported as such. */
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
