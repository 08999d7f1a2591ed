import type { AdObject, AdObjectKind } from "../../platforms/ads/object-kinds.ts";
import type { Fields } from "../../platforms/client/body.ts";
import type { ListPageRequest, PlatformListPage } from "../../platforms/client/list-pages.ts";
import { PlatformFailure } from "../../platforms/errors/failure.ts";
import type { Platforms } from "../../platforms/platforms.ts";
import type { Log } from "../../runtime/logging/log.ts";
import type { Database } from "../../store/database/database.ts";
import { type AdAccountAccess, callForAccount } from "./ad-account-access.ts";

export interface AdObjectParts {
  db: Database;
  log: Log;
  platforms: Pick<Platforms, "ads">;
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
export async function readAgain(
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
