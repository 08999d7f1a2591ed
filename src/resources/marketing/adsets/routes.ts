import type { Route } from "../../../http/route.ts";
import { type AdObjectRouteParts, adObjectRoutes } from "../ad-object-routes.ts";
import { adSet, adSetChanges, adSetFilters, adSetParams, newAdSet } from "./schema.ts";

export const adSetRoutes = (parts: AdObjectRouteParts): Route[] =>
  adObjectRoutes(
    {
      kind: "adsets",
      path: "/api/marketing/adsets",
      names: { one: "an ad set", many: "ad sets" },
      params: adSetParams,
      create: newAdSet,
      edit: adSetChanges,
      filters: adSetFilters,
      reply: adSet,
    },
    parts,
  );
