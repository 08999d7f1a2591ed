import { changePassword, makeUser } from "../domain/tenants/users.ts";
import { SECOND } from "../runtime/durations.ts";
import { generatePassword } from "../security/passwords.ts";
import { LOGIN_LASTS } from "../security/user-tokens.ts";
import { recordAudit } from "../store/tenants/audit-log.ts";
import { findUserCredential, listUsers, type UserCredentialRow } from "../store/tenants/users.ts";
import { CommandError, type Desk, type Verb, verb } from "./command.ts";
import { clientNamed, operatorDeed } from "./operator.ts";
import { OPTION, optional, required } from "./options.ts";
import { everyPage } from "./pages.ts";

export const USER_VERBS: readonly Verb[] = [
  verb({
    name: "user create",
    summary: "Make a user who can sign in",
    options: {
      client: required(OPTION.client),
      email: required(OPTION.email),
      name: required(OPTION.name),
      role: required(OPTION.role),
      password: optional(OPTION.password),
    },
    async run({ client, ...wish }, desk) {
      await clientNamed(desk, client);
      const made = await makeUser(desk, operatorDeed(desk, client), wish);
      if (!made) throw new CommandError(`the email ${wish.email} is in use already`);
      const { row, ...password } = made;
      return { user_id: row.id, ...password };
    },
  }),
  verb({
    name: "user list",
    summary: "List a client's users, newest first",
    options: { client: required(OPTION.client) },
    async run({ client }, desk) {
      await clientNamed(desk, client);
      const rows = await everyPage((page) => listUsers(desk.db, client, page));
      return { data: rows.map(({ id, client_id, ...row }) => ({ user_id: id, ...row })) };
    },
  }),
  verb({
    name: "user password",
    summary: "Set a user's password; the tokens issued before are refused from then on",
    options: { user: required(OPTION.user), password: optional(OPTION.password) },
    async run({ user, password }, desk) {
      const { client_id } = await userNamed(desk, user);
      const wish = { id: user, password: password ?? generatePassword() };
      await changePassword(desk, operatorDeed(desk, client_id), wish);
      return { user_id: user, ...(password === undefined ? { password: wish.password } : {}) };
    },
  }),
  verb({
    name: "user token",
    summary: "Make a user token, as a login would",
    options: {
      user: required(OPTION.user),
      ttl: optional({ ...OPTION.duration, about: "how long it is good for (12h when absent)" }),
    },
    async run({ user, ttl = LOGIN_LASTS }, desk) {
      const { issue } = desk.tokens;
      if (!issue) throw new CommandError("JWT_SECRET is not set: the identity provider issues the tokens");
      const { client_id: clientId, enabled } = await userNamed(desk, user);
      if (!enabled) throw new CommandError(`the user ${user} is disabled, a token would be refused`);
      const details = { ttl_seconds: ttl / SECOND };
      await recordAudit(desk.db, operatorDeed(desk, clientId), {
        action: "user.token_issued",
        target: user,
        details,
      });
      return { token: await issue({ id: user, clientId }, { lasts: ttl }) };
    },
  }),
];

async function userNamed({ db }: Desk, id: string): Promise<UserCredentialRow> {
  const row = await findUserCredential(db, id);
  if (!row) throw new CommandError(`there is no user ${id}`);
  return row;
}
