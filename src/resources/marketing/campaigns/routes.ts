import type { Route } from "../../../http/route.ts";
import { type AdObjectRouteParts, adObjectRoutes } from "../ad-object-routes.ts";
import { campaign, campaignChanges, campaignFilters, campaignParams, newCampaign } from "./schema.ts";

export const campaignRoutes = (parts: AdObjectRouteParts): Route[] =>
  adObjectRoutes(
    {
      kind: "campaigns",
      path: "/api/marketing/campaigns",
      names: { one: "a campaign", many: "campaigns" },
      params: campaignParams,
      create: newCampaign,
      edit: campaignChanges,
      filters: campaignFilters,
      reply: campaign,
    },
    parts,
  );
