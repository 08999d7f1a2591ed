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
      const isOwn = params.id === caller.credential.id;
      // Whose password it is stands in the path: here the role cannot be looked at before the input.
      if (!isOwn && caller.role !== "owner")
        throw new ApiError("role_insufficient", "Only an owner changes the password of somebody else");
      const replaces = isOwn ? await oldPasswordHash(parts, context) : undefined;
      const input = { id: params.id, password: body.password, replaces };
      const change = await changePassword(parts, requestActor(context), input);
      if (change.outcome === "overloaded") throw overloaded();
      if (change.outcome === "not_found") throw isOwn ? wrongOldPassword() : noSuchUser();
    },
  });
}

type PasswordContext = RequestContext<"any credential", typeof userParams, undefined, typeof newPassword>;

/** The hash that the old password was found to fit. */
async function oldPasswordHash(
  { db, passwords, limitAttempts }: PasswordParts,
  { address, params, body }: PasswordContext,
): Promise<string> {
  const { old_password: oldPassword } = body;
  if (oldPassword === undefined)
    throw invalidField("/old_password", "old_password is required for one's own password");
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
