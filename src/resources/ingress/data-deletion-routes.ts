import { deauthorize, eraseUser, type PlatformUser } from "../../domain/inbound/platform-users.ts";
import { type Route, route } from "../../http/route.ts";
import { answerPage, PAGE } from "../../http/views/view.ts";
import { SECOND } from "../../runtime/durations.ts";
import { ApiError, invalidField } from "../../runtime/errors.ts";
import { isPlatformId } from "../../runtime/ids.ts";
import { anyQuery } from "../../schema/types.ts";
import type { AppSignatures } from "../../security/app-signatures.ts";
import type { Database } from "../../store/database/database.ts";
import { findDataDeletion } from "../../store/tenants/data-deletions.ts";
import { erasurePage } from "./data-deletion-view.ts";
import { erasure, erasureParams, taken } from "./schema.ts";

const FORM = { limit: 65_536 };

export interface PeopleParts {
  db: Database;
  signatures: AppSignatures;
  publicUrl: string;
}

/** What the platform forwards of the people who once granted something, as its review demands. */
export function peopleRoutes({ db, signatures, publicUrl }: PeopleParts): Route[] {
  return [
    route({
      method: "post",
      path: "/platform/deauthorize",
      scope: "public",
      summary: "A person has removed the app at the platform",
      description: "What they had connected is revoked. The form field `signed_request` says who it was.",
      errors: ["unauthorized", "temporarily_unavailable"],
      query: anyQuery,
      body: FORM,
      reply: taken,
      async handle({ body }) {
        const user = userIn(body, signatures);
        await db.transaction((tx) => deauthorize(tx, user));
        return { received: true as const };
      },
    }),
    route({
      method: "post",
      path: "/platform/data-deletion",
      scope: "public",
      summary: "A person wants what we know of them erased",
      description:
        "Answers where they can see that it was done. The form field `signed_request` says who it is.",
      errors: ["unauthorized", "temporarily_unavailable"],
      query: anyQuery,
      body: FORM,
      reply: erasure,
      async handle({ body }) {
        const code = await eraseUser(db, userIn(body, signatures));
        return { url: `${publicUrl}/platform/data-deletion/${code}`, confirmation_code: code };
      },
    }),
    route({
      method: "get",
      path: "/platform/data-deletion/{confirmation_code}",
      scope: "public",
      summary: "What was erased, as a page for the person who asked",
      errors: ["temporarily_unavailable"],
      params: erasureParams,
      query: anyQuery,
      reply: PAGE,
      async handle({ params, setHeader }) {
        const row = await findDataDeletion(db, params.confirmation_code);
        if (!row) throw new ApiError("not_found", "There is no such confirmation code");
        return answerPage({ setHeader }, erasurePage(row));
      },
    }),
  ];
}

/** Whom the platform has signed for. */
function userIn(body: Buffer, signatures: AppSignatures): PlatformUser {
  const signed = new URLSearchParams(body.toString("utf8")).get("signed_request");
  if (signed === null) throw invalidField("/signed_request", "signed_request is required");
  const request = signatures.openRequest(signed);
  if (!request) throw new ApiError("unauthorized", "The signed request is not the platform's");
  const { user_id, issued_at } = request;
  const id = typeof user_id === "number" || typeof user_id === "bigint" ? String(user_id) : user_id;
  if (typeof id !== "string" || !isPlatformId(id))
    throw invalidField("/signed_request", "signed_request names no user_id");
  // To the second, so what was connected within it is meant too.
  const until = typeof issued_at === "number" && issued_at > 0 ? (issued_at + 1) * SECOND : Date.now();
  return { id, until: new Date(Math.min(until, Date.now())) };
}
