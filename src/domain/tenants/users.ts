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

export interface UserInput {
  email: string;
  name: string;
  role: Role;
  /** Made up when absent. */
  password?: string | undefined;
}

export interface CreatedUser {
  row: UserRow;
  /** Only where it was made up: the only time it is known. */
  password?: string;
}

interface Parts {
  db: Database;
  passwords: Passwords;
}

/** Undefined when the email is taken. */
export async function createUser(
  { db, passwords }: Parts,
  actor: AuditActor,
  input: UserInput,
): Promise<CreatedUser | undefined> {
  const generated = input.password === undefined ? generatePassword() : undefined;
  const passwordHash = await passwords.hash(input.password ?? (generated as string));
  const row = await db.transaction((tx) => addUser(tx, actor, { ...input, passwordHash }));
  return row && { row, ...(generated === undefined ? {} : { password: generated }) };
}

interface NewClientInput {
  name: string;
  owner: { email: string; name: string; password: string };
  /** Who creates the client, once its id is known. */
  actorOf(clientId: string): AuditActor;
}

/** Creates a client and its first owner in one transaction; undefined, and no client, when the email is taken. */
export async function createClientWithOwner(
  { db, passwords }: Parts,
  { name, owner: { password, ...owner }, actorOf }: NewClientInput,
): Promise<ClientRow | undefined> {
  const passwordHash = await passwords.hash(password);
  try {
    return await db.transaction(async (tx) => {
      const client = await createClient(tx, name);
      const row = await addUser(tx, actorOf(client.id), { ...owner, role: "owner", passwordHash });
      if (!row) throw new EmailTaken();
      return client;
    });
  } catch (error) {
    if (error instanceof EmailTaken) return undefined;
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
  | { outcome: "needs owner" }
  | { outcome: "last owner" };

interface UserChangeInput {
  id: string;
  changes: { [K in keyof UserChanges]?: UserChanges[K] | undefined };
  byOwner: boolean;
}

/** Only an owner makes an owner, or touches the standing of one; the last owner stays. */
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
    const isAccessChange = after.role !== row.role || after.enabled !== row.enabled;
    if (!isAccessChange && after.name === row.name) return { outcome: "changed", row };
    if (isAccessChange && !byOwner && [row.role, after.role].includes("owner"))
      return { outcome: "needs owner" };
    const removesOwner = owners.includes(id) && (after.role !== "owner" || !after.enabled);
    if (removesOwner && owners.length === 1) return { outcome: "last owner" };
    const details = changedFields(row, after);
    await recordAudit(tx, actor, { action: "user.updated", target: id, details });
    return { outcome: "changed", row: await updateUser(tx, clientId, after) };
  });
}

const definedOnly = (changes: UserChangeInput["changes"]): Partial<UserChanges> =>
  Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));

/** What was and what is, of the fields that differ. */
const changedFields = (before: UserRow, after: UserRow) =>
  Object.fromEntries(
    (["name", "role", "enabled"] as const)
      .filter((field) => before[field] !== after[field])
      .map((field) => [field, { from: before[field], to: after[field] }]),
  );

interface PasswordInput {
  id: string;
  password: string;
  /** The hash of the old password, where that was asked for. */
  replaces?: string | undefined;
}

/** Ends the tokens issued before. False when the client has no such user, or the old password has been replaced meanwhile. */
export async function changePassword(
  { db, passwords }: Parts,
  actor: AuditActor,
  { id, password, replaces }: PasswordInput,
): Promise<boolean> {
  const passwordHash = await passwords.hash(password);
  return db.transaction(async (tx) => {
    const changed = await setPassword(tx, actor.clientId, { id, passwordHash, replaces });
    if (changed) await recordAudit(tx, actor, { action: "user.password_changed", target: id });
    return changed;
  });
}
