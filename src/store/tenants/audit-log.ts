import { HOUR } from "../../runtime/durations.ts";
import { nearestIdAt, newId } from "../../runtime/ids.ts";
import { type Queryable, sql } from "../database/database.ts";
import { byNewest, MAX_ID, type PageRequest, readPage } from "../database/paging.ts";
import { aliveClient } from "./clients.ts";

export interface AuditRow {
  id: string;
  at: Date;
  actor_type: string;
  actor_id: string;
  actor_name: string;
  action: string;
  target: string | null;
  address: string | null;
  request_id: string | null;
  details: Record<string, unknown>;
}

export type ActorType = "user" | "api_key" | "operator" | "service";

/** The client acted on, the credential that acts, and the origin of the request. */
export interface AuditActor {
  clientId: string;
  credential: { type: ActorType; id: string; name: string };
  /** Null without an HTTP request, like `requestId`. */
  address: string | null;
  requestId: string | null;
}

export interface AuditEntry {
  action: string;
  target: string;
  /** Must not contain secrets: owners can read it. */
  details?: Record<string, unknown>;
}

export interface AuditFilters {
  action?: string | undefined;
  actor_id?: string | undefined;
  /** The time of the entry; both bounds are inclusive. */
  since?: Date;
  until?: Date;
}

const INSERT = sql(`
  insert into audit_log (id, client_id, actor_type, actor_id, actor_name, action, target, address, request_id, details)
  values ($1, ${aliveClient("$2")}, $3, $4, $5, $6, $7, $8, $9, $10)`);

const LIST = byNewest(`
  select id, at, actor_type, actor_id, actor_name, action, target, address, request_id, details
  from audit_log
  where client_id = $1
  and ($4::text is null or action = $4)
  and ($5::text is null or actor_id = $5)
  and ($6::timestamptz is null or at >= $6)
  and ($7::timestamptz is null or at < $7)
  and id >= $8
  and id < $9`);

const INSERT_TARGETS = sql(`
  insert into audit_log (id, client_id, actor_type, actor_id, actor_name, action, target, address, request_id, details)
  select entry.id, ${aliveClient("$2")}, $3, $4, $5, $6, entry.target, $8, $9, $10
  from unnest($1::text[], $7::text[]) entry (id, target)`);

const INSERT_OF_CLIENTS = sql(`
  insert into audit_log (id, client_id, actor_type, actor_id, actor_name, action, target, details)
  select e.id, e.client_id, $2, $3, $4, $5, e.target, e.details
  from json_to_recordset($1) as e (id text, client_id uuid, target text, details jsonb)`);

/**
 * Runs in the transaction of the audited change, so that neither exists without the other. Throws an error that isDeletedClient
 * recognises for a deleted client: a request that was authenticated before the deletion changes nothing.
 */
export async function recordAudit(tx: Queryable, actor: AuditActor, entry: AuditEntry): Promise<void> {
  const { clientId, credential, address, requestId } = actor;
  await tx.query(INSERT, [
    newId("aud"),
    clientId,
    credential.type,
    credential.id,
    credential.name,
    entry.action,
    entry.target,
    address,
    requestId,
    entry.details ?? {},
  ]);
}

/** Like recordAudit, with one entry per target: a change may affect many objects. */
export async function recordAuditOfEach(
  tx: Queryable,
  actor: AuditActor,
  { action, targets, details = {} }: Omit<AuditEntry, "target"> & { targets: readonly string[] },
): Promise<void> {
  if (targets.length === 0) return;
  const { clientId, credential, address, requestId } = actor;
  await tx.query(INSERT_TARGETS, [
    targets.map(() => newId("aud")),
    clientId,
    credential.type,
    credential.id,
    credential.name,
    action,
    targets,
    address,
    requestId,
    details,
  ]);
}

/** An entry of one of several clients. */
export interface ClientAuditEntry {
  clientId: string;
  target: string;
  details: Record<string, unknown>;
}

/** Like recordAudit, for a change that affects several clients. */
export async function recordAuditOfClients(
  tx: Queryable,
  { type, id, name }: AuditActor["credential"],
  { action, entries }: { action: string; entries: readonly ClientAuditEntry[] },
): Promise<void> {
  if (entries.length === 0) return;
  const rows = entries.map(({ clientId, ...entry }) => ({ id: newId("aud"), client_id: clientId, ...entry }));
  await tx.query(INSERT_OF_CLIENTS, [JSON.stringify(rows), type, id, name, action]);
}

/**
 * The longest time between the time in an entry's id and its `at`: the process makes the id by its own clock, and Postgres
 * sets `at` to the start of the transaction.
 */
const ID_TOLERANCE_MS = 1 * HOUR;

/** The ids bound the search of a period: otherwise an old period would cost a look at all newer entries. */
export const listAudit = (
  db: Queryable,
  clientId: string,
  { page, action, actor_id, since, until }: AuditFilters & { page: PageRequest },
): Promise<AuditRow[]> => {
  // Clients see milliseconds of `at`, which has microseconds.
  const end = until && new Date(until.getTime() + 1);
  return readPage(db, clientId, {
    page,
    statements: LIST,
    filters: [
      action ?? null,
      actor_id ?? null,
      since ?? null,
      end ?? null,
      since ? nearestIdAt("aud", since.getTime() - ID_TOLERANCE_MS) : "",
      end ? nearestIdAt("aud", end.getTime() + ID_TOLERANCE_MS) : MAX_ID,
    ],
  });
};
