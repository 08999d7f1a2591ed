import { PERSON } from "../built-in-assets.ts";
import type { SandboxContext } from "../context.ts";
import type { Agreement } from "../login/codes.ts";
import type { Reply } from "../wire/call.ts";
import { type Consent, DialogError } from "./consent.ts";
import { redirectBack } from "./view.ts";

/** The form's fields apart from the dialog's parameters. */
export interface Decision {
  action: string | undefined;
  permissions: readonly string[];
  assets: readonly string[];
  expired: readonly string[];
}

/** Parses the form body. Fields can be repeated. */
export function readDecision(body: Buffer): Decision {
  const form = new URLSearchParams(body.toString("utf8"));
  const all = (name: string) => [...new Set(form.getAll(name))];
  return {
    action: form.get("action") ?? undefined,
    permissions: all("permission"),
    assets: all("asset"),
    expired: all("expired"),
  };
}

export const cancelReply = ({ redirectUri, state }: Consent): Reply =>
  redirectBack(redirectUri, {
    error: "access_denied",
    error_code: "200",
    error_description: "Permissions error",
    error_reason: "user_denied",
    state,
  });

export function grantReply(
  { codes }: Pick<SandboxContext, "codes">,
  consent: Consent,
  decision: Decision,
): Reply {
  const { redirectUri, state } = consent;
  const code = codes.issue({ redirectUri, agreement: toAgreement(consent, decision) });
  return redirectBack(redirectUri, { code, state });
}

function toAgreement(
  { kind, permissions, canDeclinePermissions, choices }: Consent,
  decision: Decision,
): Agreement {
  const { assets, expired } = decision;
  checkOffered(permissions, [...decision.permissions, ...expired], "permission");
  checkOffered(
    choices.map(({ id }) => id),
    assets,
    "asset",
  );
  const ticked = canDeclinePermissions ? decision.permissions : permissions;
  const scopes = permissions.filter((name) => ticked.includes(name) && !expired.includes(name));
  const declined = permissions.filter((name) => !ticked.includes(name) && !expired.includes(name));
  return { kind, user: PERSON.id, scopes, declined, expired, assets };
}

/** Throws for a choice that the page does not offer: the caller is a program with a bug. */
function checkOffered(offered: readonly string[], chosen: readonly string[], label: string): void {
  const unknownChoice = chosen.find((one) => !offered.includes(one));
  if (unknownChoice !== undefined)
    throw new DialogError(`The dialog does not offer this ${label}: ${unknownChoice}`);
}
