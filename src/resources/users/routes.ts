import { requestActor } from "../../domain/tenants/request-actor.ts";
import { changeUser, createUser } from "../../domain/tenants/users.ts";
import { ApiError, invalidField, overloaded } from "../../http/api-error.ts";
import { listById, listOf, listQuery, pageRequest } from "../../http/lists.ts";
import { MANAGERS_ONLY, type Route, route } from "../../http/route.ts";
import type { Role } from "../../schema/enumerations.ts";
import { toTimestamp } from "../../schema/timestamps.ts";
import { listUsers, type UserRow } from "../../store/tenants/users.ts";
import { type PasswordParts, passwordRoute } from "./password-route.ts";
import { needsOwner, noSuchUser } from "./refusals.ts";
import { createdUser, newUser, type UserDto, user, userChanges, userParams } from "./schema.ts";

const toUser = (row: UserRow): UserDto => ({
  id: row.id,
  email: row.email,
  name: row.name,
  role: row.role as Role,
  enabled: row.enabled,
  last_login_at: toTimestamp(row.last_login_at),
  created_at: toTimestamp(row.created_at),
});

export function userRoutes(parts: PasswordParts): Route[] {
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
          case "needs owner":
            throw needsOwner();
          case "last owner":
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
