import { SETTABLE_STATUSES } from "../../../domain/ads/ad-accounts.ts";
import { AD_ACCOUNT_STATUSES } from "../../../schema/enumerations.ts";
import { object, oneOf, Type } from "../../../schema/types.ts";

export const adAccountFilters = {
  status: Type.Optional(oneOf(AD_ACCOUNT_STATUSES, { description: "Absent: all, revoked ones too" })),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: "Part of the name or of the ad platform's id, in any case",
      examples: ["coffee"],
    }),
  ),
};

export const adAccountParams = object({
  id: Type.String({
    format: "uuid",
    description: "The service's own id, not the ad platform's",
    examples: ["0192f3a8-5c1d-7e6b-9a40-3f2b7e6a1d90"],
  }),
});

export const chosenStatus = object({
  status: oneOf(SETTABLE_STATUSES, {
    description: "`active`: operates. `disabled`: pauses, stays connected",
  }),
});
