import { type Context, type Route, route } from "../../http/route.ts";
import { ApiError, invalidField } from "../../runtime/errors.ts";
import type { Passwords } from "../../security/passwords.ts";
import type { TryLimit } from "../../security/try-limit.ts";
import type { Database } from "../../store/database.ts";
import { findUserCredential } from "../../store/users.ts";
import { changePassword } from "../../tenancy/users.ts";
import { newPassword, userParams } from "./schema.ts";

export interface PasswordParts {
  db: Database;
  passwords: Passwords;
  tryLimit: TryLimit;
}

const noSuchUser = () => new ApiError("not_found", "There is no such user");

/** One's own with the old one; anybody's by an owner. */
export function passwordRoute(parts: PasswordParts): Route {
  return route({
    method: "post",
    path: "/api/users/{id}/password",
    scope: "any credential",
    consoleOnly: true,
    summary: "Change a password",
    description:
      "One's own with `old_password`, or anybody's by an owner. Tokens issued before are refused from then on, also the caller's own: sign in again.",
    errors: ["role_insufficient", "overloaded"],
    params: userParams,
    body: newPassword,
    async handle(context) {
      const { caller, params, body } = context;
      if (params.id === caller.credential.id) await assertOldPassword(parts, context);
      else if (caller.role !== "owner")
        throw new ApiError("role_insufficient", "Only an owner changes the password of somebody else");
      const change = { id: params.id, password: body.password };
      if (!(await changePassword(parts, context, change))) throw noSuchUser();
    },
  });
}

type PasswordContext = Context<"any credential", typeof userParams, undefined, typeof newPassword>;

async function assertOldPassword(
  { db, passwords, tryLimit }: PasswordParts,
  { address, params, body }: PasswordContext,
): Promise<void> {
  const { old_password: given } = body;
  if (given === undefined)
    throw invalidField("/old_password", "old_password is required for one's own password");
  const row = await findUserCredential(db, params.id);
  if (!row) throw noSuchUser();
  const isRight = await tryLimit([address, row.email.toLowerCase()], async () =>
    (await passwords.matches(given, row.password_hash)) ? true : undefined,
  );
  if (!isRight) throw invalidField("/old_password", "old_password is not the current password");
}
