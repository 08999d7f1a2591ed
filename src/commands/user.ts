import { findUserCredential } from "../store/users.ts";
import { makeUser } from "../tenancy/users.ts";
import { clientNamed, operatorDeed } from "./operator.ts";
import { OPTION, optional, required } from "./options.ts";
import { CommandError, type Verb, verb } from "./verb.ts";

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
    name: "user token",
    summary: "Make a user token, as a login would",
    options: {
      user: required(OPTION.user),
      ttl: optional({ ...OPTION.duration, about: "how long it is good for (12h when absent)" }),
    },
    async run({ user, ttl }, { db, tokens }) {
      if (!tokens.issue)
        throw new CommandError("JWT_SECRET is not set: the identity provider issues the tokens");
      const row = await findUserCredential(db, user);
      if (!row) throw new CommandError(`there is no user ${user}`);
      if (!row.enabled) throw new CommandError(`the user ${user} is disabled, a token would be refused`);
      return {
        token: await tokens.issue(
          { id: user, clientId: row.client_id },
          ttl === undefined ? {} : { lasts: ttl },
        ),
      };
    },
  }),
];
