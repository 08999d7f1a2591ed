import type { AdObject, AdObjectKind } from "../../platforms/ads/object-kinds.ts";
import type { Fields } from "../../platforms/client/body.ts";
import { isAmbiguous, unconfirmedCreate } from "../../platforms/errors/failure.ts";
import type { AuditActor } from "../../store/tenants/audit-log.ts";
import type { Attempt, Created } from "../tenants/run-once.ts";
import { type AdAccountAccess, callForAccount } from "./ad-account-access.ts";
import { type AdObjectParts, readAgain } from "./ad-objects.ts";
import { recordAmbiguousCreate } from "./ambiguous-creates.ts";

interface Creation {
  actor: AuditActor;
  kind: AdObjectKind;
  fields: Fields;
  attempt: Attempt;
}

/**
 * Creates an object, or finds the one that an earlier attempt with the same Idempotency-Key has created. An ambiguous
 * outcome is recorded in the audit log.
 */
export async function createAdObject(
  parts: AdObjectParts,
  account: AdAccountAccess,
  creation: Creation,
): Promise<Created<Fields>> {
  const { kind, fields, attempt } = creation;
  const found = await findEarlier(parts, account, creation);
  if (found) return { reply: found, isFound: true };
  const { objects } = parts.platforms.ads;
  try {
    const written = await callForAccount(parts, account, () =>
      objects.create(account.access, kind, { fields, beforeCall: attempt.confirm }),
    );
    return { reply: await readAgain(parts, account, { kind, written }), isFound: false };
  } catch (error) {
    if (isAmbiguous(error)) await recordAmbiguousCreate(parts, account, { ...creation, name: fields.name });
    throw error;
  }
}

/** Finds what an earlier attempt has created; throws when that cannot be decided. */
async function findEarlier(
  parts: AdObjectParts,
  account: AdAccountAccess,
  creation: Creation,
): Promise<AdObject | undefined> {
  const { kind, fields, attempt } = creation;
  const { ambiguousSince: since, isAbandoned } = attempt;
  if (since === undefined) return undefined;
  if (isAbandoned) await recordAmbiguousCreate(parts, account, { ...creation, name: fields.name });
  const found = await callForAccount(parts, account, () =>
    parts.platforms.ads.objects.findCreated(account.access, kind, { fields, since }),
  );
  switch (found.outcome) {
    case "found":
      return found.object;
    case "none":
      return undefined;
    case "undecided":
      throw unconfirmedCreate();
  }
}
