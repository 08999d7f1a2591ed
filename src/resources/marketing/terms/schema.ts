import { MANAGING_ROLES } from "../../../schema/enumerations.ts";
import { nullable, object, oneOf, Type, timestamp } from "../../../schema/types.ts";

const version = (description: string) => Type.String({ description, examples: ["2026-11-01"] });

export const termsStatus = object(
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

export const acceptance = object({ version: version("The version in force") }, { title: "AcceptTermsDto" });

export const termsText = object(
  {
    version: version("The version in force"),
    text: Type.String({ examples: ["Terms of responsibility for advertising spend\n\n1. ..."] }),
  },
  { title: "MarketingTermsTextDto" },
);
