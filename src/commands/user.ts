import { issueSession } from "../domain/tenants/sessions.ts";
import { changePassword, changeUser, createUser } from "../domain/tenants/users.ts";
import { SECOND } from "../runtime/durations.ts";
import { generatePassword } from "../security/passwords.ts";
import { LOGIN_TTL_MS } from "../security/user-tokens.ts";
import { findUserCredential, listUsers, type UserCredentialRow } from "../store/tenants/users.ts";
import {
  type Command,
  type CommandContext,
  CommandError,
  defineCommand,
  operatorActor,
  overloadedError,
} from "./command-line/command.ts";
import { OPTION, optional, required } from "./command-line/options.ts";
import { readAllPages } from "./command-line/output.ts";
import { requireClient } from "./command-line/require-client.ts";

export const USER_COMMANDS: readonly Command[] = [
  defineCommand({
    name: "user create",
    summary: "Create a user",
    options: {
      client: required(OPTION.client),
      email: required(OPTION.email),
      name: required(OPTION.name),
      role: required(OPTION.role),
      password: optional(OPTION.password),
    },
    async run({ client, ...input }, context) {
      await requireClient(context, client);
      const created = await createUser(context, operatorActor(context, client), input);
      if (created.outcome === "email_taken")
        throw new CommandError(`the email ${input.email} is already in use`);
      if (created.outcome === "overloaded") throw overloadedError();
      const { outcome, row, ...password } = created;
      return { user_id: row.id, ...password };
    },
  }),
  defineCommand({
    name: "user list",
    summary: "List a client's users, newest first",
    options: { client: required(OPTION.client) },
    async run({ client }, context) {
      await requireClient(context, client);
      const rows = await readAllPages((page) => listUsers(context.db, client, page));
      return { data: rows.map(({ id, client_id, ...row }) => ({ user_id: id, ...row })) };
    },
  }),
  defineCommand({
    name: "user password",
    summary: "Set a user's password; tokens issued before are rejected from then on",
    options: { user: required(OPTION.user), password: optional(OPTION.password) },
    async run({ user, password }, context) {
      const { client_id } = await requireUser(context, user);
      const input = { id: user, password: password ?? generatePassword() };
      const { outcome } = await changePassword(context, operatorActor(context, client_id), input);
      if (outcome === "not_found") throw new CommandError(`there is no user ${user}`);
      if (outcome === "overloaded") throw overloadedError();
      return { user_id: user, ...(password === undefined ? { password: input.password } : {}) };
    },
  }),
  defineCommand({
    name: "user disable",
    summary:
      "Disable a user: its sessions end, and its password and tokens are rejected; its API keys keep working",
    options: { user: required(OPTION.user) },
    run: ({ user }, context) => setEnabled(context, user, false),
  }),
  defineCommand({
    name: "user enable",
    summary: "Enable a disabled user: it can sign in again",
    options: { user: required(OPTION.user) },
    run: ({ user }, context) => setEnabled(context, user, true),
  }),
  defineCommand({
    name: "user token",
    summary: "Issue a user token with a session of its own, as a login does",
    options: {
      user: required(OPTION.user),
      ttl: optional({ ...OPTION.duration, about: "lifetime of the token (default: 12h)" }),
    },
    async run({ user, ttl = LOGIN_TTL_MS }, context) {
      const { issue } = context.tokens;
      if (!issue) throw new CommandError("JWT_SECRET is not set: the identity provider issues the tokens");
      const { client_id: clientId } = await requireUser(context, user);
      const details = { ttl_seconds: ttl / SECOND };
      const input = { userId: user, ttlMs: ttl, details };
      const session = await issueSession(context.db, operatorActor(context, clientId), input);
      if (!session) throw new CommandError(`the user ${user} is disabled: its token would be rejected`);
      const options = { sessionId: session.id, issuedAt: session.created_at, ttlMs: ttl };
      return { token: await issue({ id: user, clientId }, options) };
    },
  }),
];

async function setEnabled(context: CommandContext, id: string, enabled: boolean) {
  const { client_id: clientId } = await requireUser(context, id);
  const input = { id, changes: { enabled }, byOwner: true };
  const change = await changeUser(context.db, operatorActor(context, clientId), input);
  if (change.outcome === "last_owner")
    throw new CommandError(`${id} is the last enabled owner of its client: create another owner first`);
  if (change.outcome !== "changed") throw new CommandError(`there is no user ${id}`);
  return { user_id: id, email: change.row.email, enabled: change.row.enabled };
}

async function requireUser({ db }: CommandContext, id: string): Promise<UserCredentialRow> {
  const row = await findUserCredential(db, id);
  if (!row) throw new CommandError(`there is no user ${id}`);
  return row;
}
