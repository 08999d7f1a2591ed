import { requestActor } from "../../domain/tenants/request-actor.ts";
import { changePassword } from "../../domain/tenants/users.ts";
import { ApiError, invalidField, overloaded, tooManyAttempts } from "../../http/api-error.ts";
import { type RequestContext, type Route, route } from "../../http/route.ts";
import type { AttemptLimiter } from "../../security/attempt-limiter.ts";
import type { Passwords } from "../../security/passwords.ts";
import type { Database } from "../../store/database/database.ts";
import { findUserCredential } from "../../store/tenants/users.ts";
import { noSuchUser } from "./refusals.ts";
import { newPassword, userParams } from "./schema.ts";

export interface PasswordParts {
  db: Database;
  passwords: Passwords;
  limitAttempts: AttemptLimiter;
}

const wrongOldPassword = () => invalidField("/old_password", "old_password is not the current password");

/** Users change their own password with the old one; owners change any password. */
export function passwordRoute(parts: PasswordParts): Route {
  return route({
    method: "post",
    path: "/api/users/{id}/password",
    scope: "any credential",
    consoleOnly: true,
    summary: "Change a password",
    description:
      "Users change their own password with `old_password`; owners can change any user's password. Tokens that were issued to the user before are rejected from then on, including the caller's own: sign in again.",
    errors: ["role_insufficient", "overloaded"],
    params: userParams,
    body: newPassword,
    async handle(context) {
      const { caller, params, body } = context;
      const isOwn = params.id === caller.credential.id;
      // The path names the user, so the role cannot be checked before the input.
      if (!isOwn && caller.role !== "owner")
        throw new ApiError("role_insufficient", "Only an owner can change another user's password");
      const replaces = isOwn ? await oldPasswordHash(parts, context) : undefined;
      const input = { id: params.id, password: body.password, replaces };
      const change = await changePassword(parts, requestActor(context), input);
      if (change.outcome === "overloaded") throw overloaded();
      if (change.outcome === "not_found") throw isOwn ? wrongOldPassword() : noSuchUser();
    },
  });
}

type PasswordContext = RequestContext<"any credential", typeof userParams, undefined, typeof newPassword>;

/** Returns the stored hash, which old_password matches. */
async function oldPasswordHash(
  { db, passwords, limitAttempts }: PasswordParts,
  { address, params, body }: PasswordContext,
): Promise<string> {
  const { old_password: oldPassword } = body;
  if (oldPassword === undefined)
    throw invalidField("/old_password", "old_password is required to change your own password");
  const row = await findUserCredential(db, params.id);
  if (!row) throw noSuchUser();
  const { password_hash: hash } = row;
  const attempt = await limitAttempts([address, row.email.toLowerCase()], async () => {
    const { outcome } = await passwords.check(oldPassword, hash, address);
    return outcome === "differs" ? undefined : outcome;
  });
  if (attempt.outcome === "limited") throw tooManyAttempts(attempt);
  if (attempt.result === undefined) throw wrongOldPassword();
  if (attempt.result === "overloaded") throw overloaded();
  return hash;
}
