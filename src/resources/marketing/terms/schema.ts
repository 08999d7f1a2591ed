import { MANAGING_ROLES } from "../../../schema/enumerations.ts";
import { nullable, object, oneOf, Type, timestamp } from "../../../schema/types.ts";

const version = (description: string) => Type.String({ description, examples: ["2026-11-01"] });

export const termsStatus = object(
  {
    version: version("The version in force: what to send when accepting"),
    accepted: Type.Boolean({ description: "Whether the client has accepted the version in force" }),
    accepted_at: nullable(
      timestamp({
        description: "When a version was last accepted, in force or not; null where none ever was",
      }),
    ),
    accepted_by: nullable(
      object(
        {
          user_id: Type.String({ examples: ["usr_01k9zv3m5q8x7w2r4t6y0a1b2c"] }),
          name: Type.String({ examples: ["Ada Lovelace"] }),
          email: nullable(
            Type.String({
              description: "Null where the identity provider did not tell it",
              examples: ["ada@example.com"],
            }),
          ),
          role: oneOf(MANAGING_ROLES),
        },
        { description: "Who did it, as they were then" },
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
