import { requestActor } from "../../../domain/tenants/audit-actors.ts";
import { acceptVersion } from "../../../domain/tenants/terms.ts";
import { ApiError } from "../../../http/api-error.ts";
import { MANAGERS_ONLY, type Route, route } from "../../../http/route.ts";
import { MANAGING_ROLES } from "../../../schema/enumerations.ts";
import { toTimestamp } from "../../../schema/times.ts";
import { nullable, object, oneOf, type Static, Type, timestamp } from "../../../schema/types.ts";
import { findTermsInForce, readTermsStatus, type TermsStatusRow } from "../../../store/tenants/terms.ts";

export function termsRoutes(): Route[] {
  return [
    route({
      method: "get",
      path: "/api/marketing/terms",
      operationId: "getTermsStatus",
      scope: "marketing:read",
      summary: "Read which version of the terms is in force and whether it is accepted",
      reply: termsStatus,
      handle: async ({ db, caller }) => toStatus(await readTermsStatus(db, caller.clientId)),
    }),
    route({
      method: "get",
      path: "/api/marketing/terms/text",
      operationId: "getTermsText",
      scope: "marketing:read",
      summary: "Read the text of the terms in force",
      reply: termsText,
      async handle({ db }) {
        const { version, text } = await findTermsInForce(db);
        return { version, text };
      },
    }),
    route({
      method: "post",
      path: "/api/marketing/terms/accept",
      operationId: "acceptTerms",
      ...MANAGERS_ONLY,
      scope: "marketing:manage",
      summary: "Accept the terms in force for the client",
      description:
        "The requests under /api/marketing that connect or change something require this acceptance. A newly published version must be accepted again. Accepting a version twice changes nothing.",
      errors: ["terms_version_not_current"],
      repeatable: true,
      body: acceptance,
      reply: termsStatus,
      async handle(context) {
        const { credential, role } = context.caller;
        const { id, name, email = null } = credential;
        const accepted = await acceptVersion(context.db, requestActor(context), {
          version: context.body.version,
          acceptor: { id, name, email, role: role as string },
          userAgent: context.header("user-agent"),
        });
        if (accepted.outcome === "not_current") throw notCurrent(accepted.current);
        return toStatus(accepted.status);
      },
    }),
  ];
}

type StatusDto = Static<typeof termsStatus>;

const toStatus = ({ version, accepted, accepted_at, ...by }: TermsStatusRow): StatusDto => ({
  version,
  accepted,
  accepted_at: toTimestamp(accepted_at),
  accepted_by: accepted_at && toPerson(by),
  current_version_accepted: accepted,
});

const toPerson = ({
  user_id,
  name,
  email,
  role,
}: Pick<TermsStatusRow, "user_id" | "name" | "email" | "role">) => ({
  user_id: user_id as string,
  name: name as string,
  email,
  role: role as (typeof MANAGING_ROLES)[number],
});

function notCurrent(current: string): ApiError {
  const message = `The version in force is ${current}`;
  const details = [{ path: "/version", message }];
  return new ApiError("terms_version_not_current", message, { details, extra: { current_version: current } });
}

const version = (description: string) => Type.String({ description, examples: ["2026-11-01"] });

const termsStatus = object(
  {
    version: version("The version in force; send it to accept the terms"),
    accepted: Type.Boolean({ description: "Whether the client has accepted the version in force" }),
    accepted_at: nullable(
      timestamp({
        description: "When the client last accepted a version, in force or not; null if it never did",
      }),
    ),
    accepted_by: nullable(
      object(
        {
          user_id: Type.String({ examples: ["usr_01k9zv3m5q8x7w2r4t6y0a1b2c"] }),
          name: Type.String({ examples: ["Ada Lovelace"] }),
          email: nullable(
            Type.String({
              description: "Null when the identity provider does not provide it",
              examples: ["ada@example.com"],
            }),
          ),
          role: oneOf(MANAGING_ROLES),
        },
        { description: "Who accepted it, as recorded at that time" },
      ),
    ),
    current_version_accepted: Type.Boolean({ description: "The same as `accepted`" }),
  },
  { title: "MarketingTermsStatusDto" },
);

const acceptance = object({ version: version("The version in force") }, { title: "AcceptTermsDto" });

const termsText = object(
  {
    version: version("The version in force"),
    text: Type.String({ examples: ["Terms of responsibility for advertising spend\n\n1. ..."] }),
  },
  { title: "MarketingTermsTextDto" },
);
