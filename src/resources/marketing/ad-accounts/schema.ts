import { SETTABLE_STATUSES } from "../../../domain/ads/ad-accounts.ts";
import { AD_ACCOUNT_STATUSES } from "../../../schema/enumerations.ts";
import { object, oneOf, Type } from "../../../schema/types.ts";

export const adAccountFilters = {
  status: Type.Optional(
    oneOf(AD_ACCOUNT_STATUSES, { description: "Default: all, including revoked accounts" }),
  ),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: "Part of the name or of the ad platform's id, case-insensitive",
      examples: ["coffee"],
    }),
  ),
};

export const adAccountParams = object({
  id: Type.String({
    pattern: "^(act_\\d{1,32}|[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12})$",
    "x-message": "id must be the UUID of an ad account or the ad platform's id, such as act_1600000000000101",
    description: "The ad account: Herald's id (a UUID) or the ad platform's id with its `act_` prefix",
    examples: ["0192f3a8-5c1d-7e6b-9a40-3f2b7e6a1d90"],
  }),
});

export const chosenStatus = object({
  status: oneOf(SETTABLE_STATUSES, {
    description: "`active`: Herald works with the account. `disabled`: paused, but still connected",
  }),
});
