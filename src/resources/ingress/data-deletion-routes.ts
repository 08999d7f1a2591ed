import { deauthorize, deleteUserData, type PlatformUser } from "../../domain/inbound/revocations.ts";
import { ApiError, DATABASE_ERRORS, invalidField, notFound } from "../../http/api-error.ts";
import { type Route, route } from "../../http/route.ts";
import { HTML_REPLY, html, renderView, type View } from "../../http/views/view.ts";
import { SECOND } from "../../runtime/durations.ts";
import { isPlatformId } from "../../runtime/ids.ts";
import type { Log } from "../../runtime/log.ts";
import { anyQuery } from "../../schema/types.ts";
import type { AppSignatures } from "../../security/signatures-and-states.ts";
import { type DataDeletionRow, findDataDeletion } from "../../store/tenants/data-deletions.ts";
import { acknowledgement, dataDeletion, dataDeletionParams } from "./schema.ts";

const FORM_BODY = { limit: 16_384 };

export interface DataDeletionParts {
  log: Log;
  signatures: AppSignatures;
  publicUrl: string;
}

/** Callbacks that the platform's app review requires: deauthorisation and data deletion. */
export function dataDeletionRoutes({ log, signatures, publicUrl }: DataDeletionParts): Route[] {
  return [
    route({
      method: "post",
      path: "/platform/deauthorize",
      operationId: "deauthorizeUser",
      scope: "public",
      summary: "Receive a deauthorisation callback",
      description:
        "A person has removed the app at the platform: everything they had connected is revoked. The form field `signed_request` identifies the person.",
      errors: ["unauthorized", ...DATABASE_ERRORS],
      repeatable: true,
      query: anyQuery,
      body: FORM_BODY,
      reply: acknowledgement,
      async handle({ db, body }) {
        await deauthorize({ db, log }, readSignedUser(body, signatures));
        return { received: true as const };
      },
    }),
    route({
      method: "post",
      path: "/platform/data-deletion",
      operationId: "deleteUserData",
      scope: "public",
      summary: "Receive a data deletion request",
      description:
        "Erases what is stored about a person and returns the URL of a confirmation page. The form field `signed_request` identifies the person.",
      errors: ["unauthorized", ...DATABASE_ERRORS],
      repeatable: true,
      query: anyQuery,
      body: FORM_BODY,
      reply: dataDeletion,
      async handle({ db, body }) {
        const code = await deleteUserData({ db, log }, readSignedUser(body, signatures));
        return { url: `${publicUrl}/platform/data-deletion/${code}`, confirmation_code: code };
      },
    }),
    route({
      method: "get",
      path: "/platform/data-deletion/{confirmation_code}",
      operationId: "getDataDeletion",
      scope: "public",
      summary: "Show what was erased, as a page for the person who asked",
      description: "The platform shows this address to the person as the proof of the deletion.",
      errors: [...DATABASE_ERRORS],
      params: dataDeletionParams,
      query: anyQuery,
      reply: HTML_REPLY,
      async handle({ db, params, setHeader }) {
        const row = await findDataDeletion(db, params.confirmation_code);
        if (!row) throw notFound("confirmation code");
        return renderView({ setHeader }, dataDeletionView(row));
      },
    }),
  ];
}

/** The person named in the platform's signed request. */
function readSignedUser(body: Buffer, signatures: AppSignatures): PlatformUser {
  const signed = new URLSearchParams(body.toString("utf8")).get("signed_request");
  if (signed === null) throw invalidField("/signed_request", "signed_request is required");
  const request = signatures.parseSignedRequest(signed);
  if (!request) throw new ApiError("unauthorized", "signed_request is not signed by the platform");
  const { user_id, issued_at } = request;
  const id = typeof user_id === "number" || typeof user_id === "bigint" ? String(user_id) : user_id;
  if (typeof id !== "string" || !isPlatformId(id))
    throw invalidField("/signed_request", "signed_request has no valid user_id");
  // issued_at has a resolution of one second: connections made within that second are included.
  const until = typeof issued_at === "number" && issued_at > 0 ? (issued_at + 1) * SECOND : Date.now();
  return { id, until: new Date(Math.min(until, Date.now())) };
}

const pluralize = (count: number, word: string) => `${count} ${word}${count === 1 ? "" : "s"}`;

const outcomeOf = ({ connections, channels, signups }: DataDeletionRow): string =>
  connections + channels + signups > 0
    ? `We have erased your identity and your access tokens from ${pluralize(connections, "ad connection")}, ${pluralize(channels, "messaging channel")} and ${pluralize(signups, "unfinished signup")}.`
    : "We had no data about you.";

const dataDeletionView = (row: DataDeletionRow): View => ({
  title: "Your data was erased",
  content: html`<p>${outcomeOf(row)}</p>
<dl>
<dt>Confirmation code</dt><dd>${row.confirmation_code}</dd>
<dt>Erased</dt><dd>${row.erased_at.toISOString().slice(0, 16).replace("T", " ")} UTC</dd>
</dl>`,
});
