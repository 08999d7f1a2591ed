import { newId } from "../../runtime/ids.ts";
import type { Role } from "../../schema/enumerations.ts";
import { generatePassword, type Passwords } from "../../security/passwords.ts";
import type { Database, Queryable } from "../../store/database/database.ts";
import { type AuditActor, recordAudit } from "../../store/tenants/audit-log.ts";
import { type ClientRow, createClient } from "../../store/tenants/clients.ts";
import {
  insertUser,
  lockOwners,
  lockUser,
  setPassword,
  type UserChanges,
  type UserRow,
  updateUser,
} from "../../store/tenants/users.ts";
import { endSessionsOf } from "./sessions.ts";

export interface UserInput {
  email: string;
  name: string;
  role: Role;
  /** Generated when absent. */
  password?: string | undefined;
}

export type CreateUserOutcome =
  | {
      outcome: "created";
      row: UserRow;
      /** Present only when generated; it cannot be read again. */
      password?: string;
    }
  | { outcome: "email_taken" }
  | { outcome: "overloaded" };

interface Parts {
  db: Database;
  passwords: Passwords;
}

export async function createUser(
  { db, passwords }: Parts,
  actor: AuditActor,
  input: UserInput,
): Promise<CreateUserOutcome> {
  const generated = input.password === undefined ? generatePassword() : undefined;
  const hashed = await passwords.hash(input.password ?? (generated as string));
  if (hashed.outcome === "overloaded") return hashed;
  const row = await db.transaction((tx) => addUser(tx, actor, { ...input, passwordHash: hashed.hash }));
  if (!row) return { outcome: "email_taken" };
  return { outcome: "created", row, ...(generated === undefined ? {} : { password: generated }) };
}

interface NewClientInput {
  name: string;
  owner: { email: string; name: string; password: string };
  /** Returns the audit actor, once the client's id is known. */
  actorOf(clientId: string): AuditActor;
}

export type CreateClientOutcome =
  | { outcome: "created"; client: ClientRow }
  | { outcome: "email_taken" }
  | { outcome: "overloaded" };

/** Creates a client and its first owner in one transaction: when the email is taken, there is no client. */
export async function createClientWithOwner(
  { db, passwords }: Parts,
  { name, owner: { password, ...owner }, actorOf }: NewClientInput,
): Promise<CreateClientOutcome> {
  const hashed = await passwords.hash(password);
  if (hashed.outcome === "overloaded") return hashed;
  const user = { ...owner, role: "owner" as const, passwordHash: hashed.hash };
  try {
    return await db.transaction(async (tx) => {
      const client = await createClient(tx, name);
      if (!(await addUser(tx, actorOf(client.id), user))) throw new EmailTaken();
      return { outcome: "created", client };
    });
  } catch (error) {
    if (error instanceof EmailTaken) return { outcome: "email_taken" };
    throw error;
  }
}

/** Thrown inside a transaction to roll it back. */
class EmailTaken extends Error {}

/** Undefined when the email is taken. */
async function addUser(
  tx: Queryable,
  actor: AuditActor,
  { email, name, role, passwordHash }: Omit<UserInput, "password"> & { passwordHash: string },
): Promise<UserRow | undefined> {
  const row = await insertUser(tx, actor.clientId, {
    id: newId("usr"),
    email,
    name,
    role,
    passwordHash,
  });
  if (row)
    await recordAudit(tx, actor, { action: "user.created", target: row.id, details: { email, name, role } });
  return row;
}

export type ChangeUserOutcome =
  | { outcome: "changed"; row: UserRow }
  | { outcome: "absent" }
  | { outcome: "needs_owner" }
  | { outcome: "last_owner" };

interface UserChangeInput {
  id: string;
  changes: { [K in keyof UserChanges]?: UserChanges[K] | undefined };
  byOwner: boolean;
}

/** Only an owner may make a user an owner or change one. The last owner stays. Disabling a user ends its sessions. */
export function changeUser(
  db: Database,
  actor: AuditActor,
  { id, changes, byOwner }: UserChangeInput,
): Promise<ChangeUserOutcome> {
  const { clientId } = actor;
  return db.transaction(async (tx): Promise<ChangeUserOutcome> => {
    const owners = await lockOwners(tx, clientId);
    const row = await lockUser(tx, clientId, id);
    if (!row) return { outcome: "absent" };
    const after = { ...row, ...definedOnly(changes) };
    const details = changedFields(row, after);
    if (Object.keys(details).length === 0) return { outcome: "changed", row };
    if (!byOwner && [row.role, after.role].includes("owner")) return { outcome: "needs_owner" };
    const removesOwner = owners.includes(id) && (after.role !== "owner" || !after.enabled);
    if (removesOwner && owners.length === 1) return { outcome: "last_owner" };
    await recordAudit(tx, actor, { action: "user.updated", target: id, details });
    const changed = await updateUser(tx, clientId, after);
    if (row.enabled && !after.enabled)
      await endSessionsOf(tx, actor, { userId: id, reason: "user_disabled" });
    return { outcome: "changed", row: changed };
  });
}

const definedOnly = (changes: UserChangeInput["changes"]): Partial<UserChanges> =>
  Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));

/** Old and new values of the fields that differ. */
const changedFields = (before: UserRow, after: UserRow) =>
  Object.fromEntries(
    (["name", "role", "enabled"] as const)
      .filter((field) => before[field] !== after[field])
      .map((field) => [field, { from: before[field], to: after[field] }]),
  );

interface PasswordInput {
  id: string;
  password: string;
  /** The hash of the old password, if it was verified. */
  replaces?: string | undefined;
}

/** `not_found`: the client has no such user, or the old password was replaced meanwhile. */
export type ChangePasswordOutcome = { outcome: "changed" | "not_found" | "overloaded" };

/** Revokes tokens issued before and ends their sessions. */
export async function changePassword(
  { db, passwords }: Parts,
  actor: AuditActor,
  { id, password, replaces }: PasswordInput,
): Promise<ChangePasswordOutcome> {
  const hashed = await passwords.hash(password);
  if (hashed.outcome === "overloaded") return hashed;
  return db.transaction(async (tx): Promise<ChangePasswordOutcome> => {
    const change = { id, passwordHash: hashed.hash, replaces };
    if (!(await setPassword(tx, actor.clientId, change))) return { outcome: "not_found" };
    await recordAudit(tx, actor, { action: "user.password_changed", target: id });
    await endSessionsOf(tx, actor, { userId: id, reason: "password_changed" });
    return { outcome: "changed" };
  });
}
