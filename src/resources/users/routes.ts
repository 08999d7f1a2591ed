import { requestActor } from "../../domain/tenants/audit-actors.ts";
import { changePassword, changeUser, createUser } from "../../domain/tenants/users.ts";
import { type VerifyParts, verifyPassword } from "../../domain/tenants/verify-password.ts";
import { ApiError, invalidField, notFound, overloaded, tooManySignIns } from "../../http/api-error.ts";
import { listById, listOf, listQuery, pageRequest } from "../../http/lists.ts";
import { MANAGERS_ONLY, type RequestContext, type Route, route } from "../../http/route.ts";
import type { Role } from "../../schema/enumerations.ts";
import { toTimestamp } from "../../schema/times.ts";
import { findUserCredential, listUsers, type UserRow } from "../../store/tenants/users.ts";
import { createdUser, newPassword, newUser, type UserDto, user, userChanges, userParams } from "./schema.ts";

interface UserParts extends Omit<VerifyParts, "db"> {
  /** Makes this process notice a changed user at once. */
  forgetCredential(id: string): void;
}

export function userRoutes(parts: UserParts): Route[] {
  const { forgetCredential } = parts;
  return [
    route({
      method: "get",
      path: "/api/users",
      operationId: "listUsers",
      ...MANAGERS_ONLY,
      summary: "List users",
      query: listQuery({}),
      reply: listOf(user),
      async handle({ db, caller, query, cursors }) {
        const page = pageRequest(query, cursors);
        const rows = await listUsers(db, caller.clientId, page);
        return listById(rows, toUser, { page, cursors });
      },
    }),
    route({
      method: "post",
      path: "/api/users",
      operationId: "createUser",
      ...MANAGERS_ONLY,
      summary: "Create a user",
      description:
        "Without `password`, one is generated and returned in this response only. Only an owner can create an owner.",
      errors: ["overloaded"],
      body: newUser,
      status: 201,
      reply: createdUser,
      async handle(context) {
        if (context.body.role === "owner" && context.caller.role !== "owner") throw needsOwner();
        const made = await createUser({ ...parts, db: context.db }, requestActor(context), context.body);
        switch (made.outcome) {
          case "created": {
            const { outcome, row, ...password } = made;
            return { ...toUser(row), ...password };
          }
          // The email may belong to another client's user. Emails are unique across clients, which the
          // response cannot hide.
          case "email_taken":
            throw invalidField("/email", "email is already in use");
          case "overloaded":
            throw overloaded();
        }
      },
    }),
    route({
      method: "patch",
      path: "/api/users/{id}",
      operationId: "updateUser",
      ...MANAGERS_ONLY,
      summary: "Change a user's name or role, or disable the user",
      description:
        "Takes effect in every process within 5 seconds. Disabling a user ends its sessions for good. Only an owner can change an owner. The last enabled owner cannot be disabled or given another role.",
      errors: ["invalid_state_transition"],
      params: userParams,
      body: userChanges,
      reply: user,
      async handle(context) {
        const { params, body: changes, caller, db } = context;
        const byOwner = caller.role === "owner";
        const change = await changeUser(db, requestActor(context), { id: params.id, changes, byOwner });
        switch (change.outcome) {
          case "changed":
            forgetCredential(params.id);
            return toUser(change.row);
          case "absent":
            throw noSuchUser();
          case "needs_owner":
            throw needsOwner();
          case "last_owner":
            throw new ApiError(
              "invalid_state_transition",
              "The last owner cannot be disabled or given another role",
            );
        }
      },
    }),
    passwordRoute(parts),
  ];
}

const toUser = (row: UserRow): UserDto => ({
  id: row.id,
  email: row.email,
  name: row.name,
  role: row.role as Role,
  enabled: row.enabled,
  last_login_at: toTimestamp(row.last_login_at),
  created_at: toTimestamp(row.created_at),
});

const noSuchUser = () => notFound("user");

const needsOwner = () => new ApiError("role_insufficient", "Only an owner can create or change an owner");

const wrongOldPassword = () => invalidField("/old_password", "old_password is not the current password");

/** Users change their own password with the old one; owners change any password. */
function passwordRoute(parts: UserParts): Route {
  return route({
    method: "post",
    path: "/api/users/{id}/password",
    operationId: "changeUserPassword",
    scope: "any_credential",
    consoleOnly: true,
    summary: "Change a password",
    description:
      "Users change their own password with `old_password`; owners can change any user's password. It ends all sessions of the user: tokens that were issued before are rejected from then on, including the caller's own. Sign in again.",
    errors: ["role_insufficient", "overloaded"],
    params: userParams,
    body: newPassword,
    async handle(context) {
      const { caller, params, body, db } = context;
      const isOwn = params.id === caller.credential.id;
      // The path names the user, so the role cannot be checked before the input.
      if (!isOwn && caller.role !== "owner")
        throw new ApiError("role_insufficient", "Only an owner can change another user's password");
      const replaces = isOwn ? await oldPasswordHash(parts, context) : undefined;
      const input = { id: params.id, password: body.password, replaces };
      const change = await changePassword({ ...parts, db }, requestActor(context), input);
      if (change.outcome === "overloaded") throw overloaded();
      if (change.outcome === "not_found") throw isOwn ? wrongOldPassword() : noSuchUser();
      parts.forgetCredential(params.id);
    },
  });
}

type PasswordContext = RequestContext<"any_credential", typeof userParams, undefined, typeof newPassword>;

/** Returns the stored hash, which old_password matches. */
async function oldPasswordHash(
  parts: UserParts,
  { db, address, params, body, callerGone }: PasswordContext,
): Promise<string> {
  const { old_password: oldPassword } = body;
  if (oldPassword === undefined)
    throw invalidField("/old_password", "old_password is required to change your own password");
  const row = await findUserCredential(db, params.id);
  if (!row) throw noSuchUser();
  const attempt = await verifyPassword(
    { ...parts, db },
    {
      email: row.email,
      password: oldPassword,
      address,
      signal: callerGone(),
      accept: async (user) => user.password_hash,
    },
  );
  if (attempt.outcome === "limited") throw tooManySignIns(attempt);
  if (attempt.outcome === "refused") throw wrongOldPassword();
  if (attempt.outcome !== "accepted") throw overloaded();
  return attempt.result;
}
