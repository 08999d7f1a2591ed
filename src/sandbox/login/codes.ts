import { randomBytes } from "node:crypto";
import { SECOND } from "../../runtime/durations.ts";
import type { Grant } from "./tokens.ts";

/** What the person agreed to in a dialog; its token gets its times when the code is exchanged. */
export type Agreement = Omit<Grant, "issued" | "expires">;

interface Promised {
  /** The dialog's, byte for byte. */
  redirectUri: string;
  agreement: Agreement;
}

export type Taken =
  | { outcome: "taken"; agreement: Agreement }
  | { outcome: "unknown" | "used" | "expired" | "mismatch" };

export interface Codes {
  issue(promised: Promised): string;
  /** Burns the code. One that comes with another redirect_uri is refused and stays good. */
  take(code: string, redirectUri: string): Taken;
}

interface CodeOptions {
  now(): number;
  /** Milliseconds. */
  life?: number;
}

/** The codes that dialogs hand out: for one exchange, within half a minute. Used ones are remembered, to say so. */
export function createCodes({ now, life = 30 * SECOND }: CodeOptions): Codes {
  const issued = new Map<string, Promised & { until: number; used: boolean }>();
  return {
    issue(promised) {
      const code = `AQ${randomBytes(48).toString("base64url")}`;
      issued.set(code, { ...promised, until: now() + life, used: false });
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
