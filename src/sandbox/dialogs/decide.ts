import { PERSON } from "../built-in-assets.ts";
import type { Ground } from "../context.ts";
import type { Agreement } from "../login/codes.ts";
import type { Reply } from "../wire/call.ts";
import { type Consent, DialogRefused } from "./consent.ts";
import { backTo } from "./view.ts";

/** What the form sent beside the dialog's parameters. */
export interface Decision {
  action: string | undefined;
  permissions: readonly string[];
  assets: readonly string[];
  expired: readonly string[];
}

/** A name in a form may come several times. */
export function decisionIn(body: Buffer): Decision {
  const form = new URLSearchParams(body.toString("utf8"));
  const all = (name: string) => [...new Set(form.getAll(name))];
  return {
    action: form.get("action") ?? undefined,
    permissions: all("permission"),
    assets: all("asset"),
    expired: all("expired"),
  };
}

export const cancelled = ({ redirectUri, state }: Consent): Reply =>
  backTo(redirectUri, {
    error: "access_denied",
    error_code: "200",
    error_description: "Permissions error",
    error_reason: "user_denied",
    state,
  });

export function granted({ codes }: Pick<Ground, "codes">, consent: Consent, decision: Decision): Reply {
  const { redirectUri, state } = consent;
  const code = codes.issue({ redirectUri, agreement: agreementOn(consent, decision) });
  return backTo(redirectUri, { code, state });
}

function agreementOn({ kind, permissions, isDivisible, choices }: Consent, decision: Decision): Agreement {
  const { assets, expired } = decision;
  onlyOf(permissions, [...decision.permissions, ...expired], "permission");
  onlyOf(
    choices.map(({ id }) => id),
    assets,
    "asset",
  );
  const ticked = isDivisible ? decision.permissions : permissions;
  const scopes = permissions.filter((name) => ticked.includes(name) && !expired.includes(name));
  const declined = permissions.filter((name) => !ticked.includes(name) && !expired.includes(name));
  return { kind, user: PERSON.id, scopes, declined, expired, assets };
}

/** The page offers nothing else, so that it is a program's mistake. */
function onlyOf(offered: readonly string[], chosen: readonly string[], what: string): void {
  const strange = chosen.find((one) => !offered.includes(one));
  if (strange !== undefined) throw new DialogRefused(`No such ${what} was offered: ${strange}`);
}
