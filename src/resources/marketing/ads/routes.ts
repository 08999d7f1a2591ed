import type { Route } from "../../../http/route.ts";
import { type AdObjectRouteParts, adObjectRoutes } from "../ad-object-routes.ts";
import { ad, adChanges, adFilters, adParams, newAd } from "./schema.ts";

export const adRoutes = (parts: AdObjectRouteParts): Route[] =>
  adObjectRoutes(
    {
      kind: "ads",
      path: "/api/marketing/ads",
      names: { one: "an ad", many: "ads" },
      params: adParams,
      create: newAd,
      edit: adChanges,
      filters: adFilters,
      reply: ad,
    },
    parts,
  );
