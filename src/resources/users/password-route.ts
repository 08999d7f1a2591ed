import { requestActor } from "../../domain/tenants/request-actor.ts";
import { changePassword } from "../../domain/tenants/users.ts";
import { type VerifyParts, verifyPassword } from "../../domain/tenants/verify-password.ts";
import { ApiError, invalidField, overloaded, tooManyAttempts } from "../../http/api-error.ts";
import { type RequestContext, type Route, route } from "../../http/route.ts";
import { findUserCredential } from "../../store/tenants/users.ts";
import { noSuchUser } from "./refusals.ts";
import { newPassword, userParams } from "./schema.ts";

export interface PasswordParts extends Omit<VerifyParts, "db"> {
  /** Makes this process notice a changed user at once. */
  forgetCredential(id: string): void;
}

const wrongOldPassword = () => invalidField("/old_password", "old_password is not the current password");

/** Users change their own password with the old one; owners change any password. */
export function passwordRoute(parts: PasswordParts): Route {
  return route({
    method: "post",
    path: "/api/users/{id}/password",
    operationId: "changeUserPassword",
    scope: "any credential",
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

type PasswordContext = RequestContext<"any credential", typeof userParams, undefined, typeof newPassword>;

/** Returns the stored hash, which old_password matches. */
async function oldPasswordHash(
  parts: PasswordParts,
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
  if (attempt.outcome === "limited") throw tooManyAttempts(attempt);
  if (attempt.outcome === "refused") throw wrongOldPassword();
  if (attempt.outcome !== "accepted") throw overloaded();
  return attempt.result;
}
