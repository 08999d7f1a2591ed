import type { AdObject, AdObjectKind } from "../../platforms/ads/object-kinds.ts";
import type { Fields } from "../../platforms/bodies.ts";
import type { ListPageRequest, PlatformListPage } from "../../platforms/client/list-pages.ts";
import { isAmbiguous, PlatformFailure, unconfirmedCreate } from "../../platforms/errors/failure.ts";
import type { Platforms } from "../../platforms/platforms.ts";
import type { Log } from "../../runtime/log.ts";
import type { Database } from "../../store/database/database.ts";
import { type AuditActor, recordAudit } from "../../store/tenants/audit-log.ts";
import type { Created, OperationRun } from "../tenants/run-once.ts";
import { type AdAccountAccess, callForAccount } from "./ad-account-access.ts";

export interface AdObjectParts {
  db: Database;
  log: Log;
  platforms: Pick<Platforms, "ads">;
}

interface Creation {
  actor: AuditActor;
  kind: AdObjectKind;
  fields: Fields;
  run: OperationRun;
}

/**
 * Creates an object, or finds the one that an earlier run with the same Idempotency-Key has created. An ambiguous
 * outcome is recorded in the audit log.
 */
export async function createAdObject(
  parts: AdObjectParts,
  account: AdAccountAccess,
  creation: Creation,
): Promise<Created<Fields>> {
  const { kind, fields, run } = creation;
  const found = await findEarlier(parts, account, creation);
  if (found) return { reply: found, isFound: true };
  const { objects } = parts.platforms.ads;
  try {
    const written = await callForAccount(parts, account, () =>
      objects.create(account.access, kind, { fields, beforeCall: run.confirm }),
    );
    return { reply: await readAgain(parts, account, { kind, written }), isFound: false };
  } catch (error) {
    if (isAmbiguous(error)) await recordAmbiguousCreate(parts, account, { ...creation, name: fields.name });
    throw error;
  }
}

/** Finds what an earlier run has created; throws when that cannot be decided. */
async function findEarlier(
  parts: AdObjectParts,
  account: AdAccountAccess,
  creation: Creation,
): Promise<AdObject | undefined> {
  const { kind, fields, run } = creation;
  const { ambiguousSince: since, isAbandoned } = run;
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

interface AmbiguousCreate {
  actor: AuditActor;
  /** The edge of the platform, such as `campaigns`. */
  kind: string;
  name: unknown;
}

/** Records in the audit log that a create may have happened. */
export async function recordAmbiguousCreate(
  { db, log }: Pick<AdObjectParts, "db" | "log">,
  { row }: AdAccountAccess,
  { actor, kind, name: given }: AmbiguousCreate,
): Promise<void> {
  const { ad_account_id } = row;
  const name = typeof given === "string" ? given : "";
  const target = `${ad_account_id} ${name}`.trimEnd();
  const entry = { action: "ad_object.create_ambiguous", target, details: { ad_account_id, kind, name } };
  // The platform's failure is the answer to the request, even when it cannot be recorded.
  await recordAudit(db, actor, entry).catch((err: unknown) =>
    log.error("audit.write_failed", { client: row.client_id, action: entry.action, err }),
  );
}

interface ObjectRef {
  kind: AdObjectKind;
  id: string;
}

interface ObjectFields {
  kind: AdObjectKind;
  fields: Fields;
}

/** Edits the given fields. Without any, the object is only read. */
export async function editAdObject(
  parts: AdObjectParts,
  account: AdAccountAccess,
  { kind, id, fields }: ObjectRef & ObjectFields,
): Promise<Fields> {
  if (Object.keys(fields).length === 0) return readAdObject(parts, account, { kind, id });
  const { objects } = parts.platforms.ads;
  const edited = await callForAccount(parts, account, () =>
    objects.update(account.access, kind, { id, fields }),
  );
  // Every object in a response has a name. It is unknown when the edit has none and the object cannot be read.
  return readAgain(parts, account, { kind, written: { name: "", ...edited } });
}

/** Lets the platform check a create, or an edit when `id` is given, without carrying it out. */
export const validateAdObject = (
  parts: AdObjectParts,
  account: AdAccountAccess,
  { kind, id, fields }: ObjectFields & { id?: string | undefined },
): Promise<void> =>
  callForAccount(parts, account, () =>
    parts.platforms.ads.objects.validate(account.access, kind, { id, fields }),
  );

export const readAdObject = (
  parts: AdObjectParts,
  account: AdAccountAccess,
  { kind, id }: ObjectRef,
): Promise<Fields> =>
  callForAccount(parts, account, () => parts.platforms.ads.objects.read(account.access, kind, id));

interface ListRequest extends ListPageRequest {
  kind: AdObjectKind;
  /** Values that a listed object must have. */
  where: Fields;
}

export const listAdObjects = (
  parts: AdObjectParts,
  account: AdAccountAccess,
  { kind, ...request }: ListRequest,
): Promise<PlatformListPage> =>
  callForAccount(parts, account, () => parts.platforms.ads.objects.list(account.access, kind, request));

/** Reads an object after a write. If that fails, returns what was written, because the write has succeeded. */
async function readAgain(
  parts: AdObjectParts,
  account: AdAccountAccess,
  { kind, written }: { kind: AdObjectKind; written: AdObject },
): Promise<Fields> {
  try {
    return await readAdObject(parts, account, { kind, id: written.id });
  } catch (error) {
    const { client_id: client, ad_account_id: ad_account } = account.row;
    const reason = error instanceof PlatformFailure ? { verdict: error.verdict } : { err: error };
    parts.log.warn("ad_object.read_failed", { client, ad_account, object: written.id, ...reason });
    return written;
  }
}
